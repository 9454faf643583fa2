#include "core/recognise/partitioned_trace.h"

#include "core/formats/source/dangling_flows.h"
#include "core/formats/source/file_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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

// Types of lower libraries: fields() has to be in their namespace, which is this one.
template <class Wire>
void fields(Wire& wire, InputFile& value) {
    auto& [path, named, bytes, first_bytes] = value;
    wire(path, named, bytes, first_bytes);
}
template <class Wire>
void fields(Wire& wire, FileOutcome& value) {
    auto& [unusable, problems] = value;
    wire(unusable, problems);
}
template <class Wire>
void fields(Wire& wire, ProcessGroup& value) {
    auto& [description, ranks] = value;
    wire(description, ranks);
}
template <class Wire>
void fields(Wire& wire, TraceFile& value) {
    auto& [path, format, rank, host, groups, world_size, offset] = value;
    wire(path, format, rank, host, groups, world_size, offset);
}
template <class Wire>
void fields(Wire& wire, TraceExtent& value) {
    auto& [first, last] = value;
    wire(first, last);
}
template <class Wire>
void fields(Wire& wire, TracePartition::ReadOutcome& value) {
    auto& [files, read, extent, problems] = value;
    wire(files, read, extent, problems);
}
template <class Wire>
void fields(Wire& wire, SharedArrow& value) {
    auto& [id, first, file, ends] = value;
    wire(id, first, file, ends);
}
template <class Wire>
void fields(Wire& wire, FlowEnds& value) {
    auto& [dangling, shared] = value;
    wire(dangling, shared);
}

namespace {

struct ReadQuery {
    std::vector<InputFile> files;
    std::vector<std::size_t> begins; ///< see partitionFiles()
};

Result<TracePartition::ReadOutcome> readPartition(TracePartition& partition, const ReadQuery& query) {
    const std::size_t begin = query.begins[partition.number()];
    const std::size_t count = query.begins[partition.number() + 1] - begin;
    return partition.read(std::span(query.files).subspan(begin, count), static_cast<std::uint32_t>(begin));
}

constexpr PartitionTask<TracePartition::ReadOutcome, ReadQuery> kReadFiles{"read", readPartition};

struct FinishedPartition {
    std::vector<Diagnostic> problems;
    FlowEnds flows;
    std::size_t slices = 0;
};

Result<FinishedPartition> finishPartition(TracePartition& partition, const TraceExtent& extent) {
    FinishedPartition finished;
    BUBBLESCOPE_ASSIGN(finished.problems, partition.finish(extent));
    finished.flows = flowEnds(partition.trace(), partition.firstFile());
    finished.slices = partition.trace().sliceCount();
    return finished;
}

constexpr PartitionTask<FinishedPartition, TraceExtent> kFinish{"finish", finishPartition};

template <class Wire>
void fields(Wire& wire, ReadQuery& value) {
    auto& [files, begins] = value;
    wire(files, begins);
}
template <class Wire>
void fields(Wire& wire, FinishedPartition& value) {
    auto& [problems, flows, slices] = value;
    wire(problems, flows, slices);
}

void logAll(std::vector<Diagnostic> problems, DiagnosticLog& log) {
    for (Diagnostic& entry : problems)
        log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
}

/// Opening a file costs something too, and separates empty ones.
std::uint64_t costOf(const InputFile& file) {
    return file.bytes + 4096;
}

/// Fills one range after the other up to `most`, the first one up to that less `reserved`; more ranges than there are
/// processes if that is too little.
std::vector<std::size_t> filledUpTo(std::span<const InputFile> files, std::uint64_t most, std::uint64_t reserved) {
    std::vector<std::size_t> begins{0};
    std::uint64_t filled = reserved;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (filled > 0 && filled + costOf(files[i]) > most) {
            begins.push_back(i);
            filled = 0;
        }
        filled += costOf(files[i]);
    }
    return begins;
}

} // namespace

std::vector<std::size_t> partitionFiles(std::span<const InputFile> files, std::size_t processes) {
    std::uint64_t least = 0;
    std::uint64_t all = 0;
    bool by_first = processes == 1 || files.size() == 1;
    for (const InputFile& file : files) {
        least = std::max(least, costOf(file));
        all += costOf(file);
        by_first = by_first || file.path == kStandardInput;
    }
    if (by_first) {
        std::vector<std::size_t> begins(processes + 1, files.size());
        begins.front() = 0;
        return begins;
    }
    constexpr std::uint64_t kPartOfFirst = 4;
    const std::uint64_t reserved = all / kPartOfFirst;
    std::uint64_t most = all + reserved;
    while (least < most) {
        const std::uint64_t middle = least + (most - least) / 2;
        if (filledUpTo(files, middle, reserved).size() <= processes)
            most = middle;
        else
            least = middle + 1;
    }
    std::vector<std::size_t> begins = filledUpTo(files, most, reserved);
    begins.resize(processes + 1, files.size());
    return begins;
}

Result<std::shared_ptr<PartitionedTrace>> PartitionedTrace::read(const std::vector<std::filesystem::path>& paths,
                                                                 JobControl& control,
                                                                 std::span<const RecognitionRule> user_rules,
                                                                 Coordinator* coordinator, DiagnosticLog& log,
                                                                 std::uint64_t first_bytes) {
    std::shared_ptr<PartitionedTrace> trace(new PartitionedTrace(user_rules, control, coordinator));
    ReadQuery query;
    BUBBLESCOPE_ASSIGN(query.files, findTraceFiles(paths));
    for (InputFile& file : query.files)
        file.first_bytes = first_bytes == 0 ? 0 : std::max<std::uint64_t>(1, first_bytes / query.files.size());
    query.begins = partitionFiles(query.files, coordinator == nullptr ? 1 : coordinator->size());
    BUBBLESCOPE_ASSIGN(std::vector<TracePartition::ReadOutcome> outcomes, trace->run(kReadFiles, query));

    std::vector<FileOutcome> of_files;
    std::vector<Diagnostic> later;
    TraceExtent extent;
    for (TracePartition::ReadOutcome& outcome : outcomes) {
        std::ranges::move(outcome.files, std::back_inserter(of_files));
        std::ranges::move(outcome.read, std::back_inserter(trace->files_));
        std::ranges::move(outcome.problems, std::back_inserter(later));
        extent.include(outcome.extent);
    }
    BUBBLESCOPE_TRY(logFileProblems(query.files, std::move(of_files), log));
    logAll(std::move(later), log);
    if (control.stopRequested()) return cancelledError();

    BUBBLESCOPE_ASSIGN(std::vector<FinishedPartition> finished, trace->run(kFinish, extent));
    std::vector<FlowEnds> flows;
    for (FinishedPartition& partition : finished) {
        logAll(std::move(partition.problems), log);
        flows.push_back(std::move(partition.flows));
        trace->slices_ += partition.slices;
    }
    noteDanglingFlows(std::move(flows), trace->files_, log);
    if (control.stopRequested()) return cancelledError();
    if (!extent.empty()) trace->span_ = extent.last - extent.first;
    return trace;
}

Result<std::string> PartitionTasks::handle(TracePartition& partition, std::string_view request) const {
    WireReader in(request);
    std::string name;
    in(name);
    const auto known = handlers_.find(name);
    if (known == handlers_.end()) return runError(fmt::format("a process received an unknown request: {}", name));
    return known->second(partition, in);
}

PartitionTasks::PartitionTasks() {
    add(kReadFiles, kFinish);
}

Status servePartition(ProcessTeam& team, std::span<const RecognitionRule> user_rules, const PartitionTasks& tasks) {
    JobControl control;
    TracePartition partition(static_cast<std::size_t>(team.rank()), user_rules, control);
    return Coordinator::serve(team, [&](std::string_view request) { return tasks.handle(partition, request); });
}

} // namespace bubblescope
