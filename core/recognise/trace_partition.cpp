#include "core/recognise/trace_partition.h"

#include <algorithm>
#include <numeric>

namespace bubblescope {

Result<TracePartition::ReadOutcome> TracePartition::read(std::span<const InputFile> files, std::uint32_t first_file) {
    BUBBLESCOPE_ASSIGN(ReadFiles read, readFiles(files, *control_));
    first_file_ = first_file;
    builder_ = std::move(read.builder);
    ReadOutcome outcome;
    outcome.files = std::move(read.outcomes);
    for (std::uint32_t i = 0; i < builder_.fileCount(); ++i)
        outcome.read.push_back(builder_.file(i));
    DiagnosticLog log;
    BUBBLESCOPE_ASSIGN(outcome.extent, builder_.settle(log, *control_));
    outcome.problems = log.take();
    return outcome;
}

Result<std::vector<Diagnostic>> TracePartition::finish(const TraceExtent& extent) {
    DiagnosticLog log;
    BUBBLESCOPE_ASSIGN(trace_, builder_.finish(extent, log, *control_));
    return log.take();
}

std::vector<TrackId> TracePartition::tracksByFile() const {
    std::vector<TrackId> tracks(trace_->tracks().size());
    std::iota(tracks.begin(), tracks.end(), TrackId{0});
    std::ranges::stable_sort(tracks, {}, [this](TrackId track) { return trace_->tracks()[track].file; });
    return tracks;
}

const RecognitionRule& TracePartition::rule(std::size_t i) const {
    return i < user_rules_.size() ? user_rules_[i] : builtinRules()[i - user_rules_.size()];
}

const JobControl& TracePartition::control() const {
    static const JobControl kNeverStopped;
    return control_ == nullptr ? kNeverStopped : *control_;
}

const GpuWork& TracePartition::gpu() {
    if (!gpu_) gpu_.emplace(*trace_, control());
    return *gpu_;
}

} // namespace bubblescope
