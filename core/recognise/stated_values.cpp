#include "core/recognise/stated_values.h"

#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/captured_values.h"
#include "core/timeline/trace_names.h"
#include "core/trace/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

namespace bubblescope {
namespace {

/// The replica that the values of a file belong to; nothing if another rank represents it.
std::optional<int> replicaOf(const TraceFile& file, const std::optional<RankPlaces>& places) {
    if (!places || !file.rank) return 0;
    const auto place = places->ranks.find(*file.rank);
    if (place == places->ranks.end()) return std::nullopt;
    const MeshNumbers& at = place->second;
    if (at.at(MeshAxis::Tensor) != 0 || at.at(MeshAxis::Context) != 0) return std::nullopt;
    return at.at(MeshAxis::Data);
}

/// Returns nullopt if the step has no number.
std::optional<std::pair<int, StepValues>> valuesIn(const Trace& trace, const Instant& instant) {
    std::optional<int> step;
    StepValues values;
    for (const Arg& arg : trace.args(instant.args)) {
        if (const auto* const real = std::get_if<double>(&arg.value)) {
            if (arg.name == "loss") values.loss = *real;
        } else if (const auto* const number = std::get_if<std::int64_t>(&arg.value);
                   number != nullptr && *number >= 0) {
            if (arg.name == "step" && *number <= std::numeric_limits<int>::max()) step = static_cast<int>(*number);
            for (const auto& [name, member] : kStepCounts)
                if (arg.name == name) values.*member = *number;
        }
    }
    if (!step) return std::nullopt;
    return std::pair(*step, values);
}

} // namespace

Result<std::vector<FileStepValues>> extractStepValues(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<FileStepValues> files(raw.fileCount());
    const StringId name = trace.strings().find(perfetto::kCaptureStepValues);
    if (name == 0) return files;
    for (const Instant& instant : trace.instants()) {
        if (instant.name != name) continue;
        if (const auto found = valuesIn(trace, instant))
            files[trace.tracks()[instant.track].file][found->first].fill(found->second);
    }
    return files;
}

std::optional<std::int64_t> statedTransferBytes(const Trace& trace) {
    const std::array transfers{trace.strings().find(trace_names::kSend), trace.strings().find(trace_names::kReceive),
                               trace.strings().find(perfetto::kPipelineCategory)};
    std::vector<std::int64_t> sizes;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const StringId category = trace.sliceCategories()[slice];
        if (category == 0 || std::ranges::find(transfers, category) == transfers.end()) continue;
        trace.visitArgs(trace.sliceArgs()[slice], [&](const ArgView& arg) {
            if (arg.name != "bytes") return true;
            if (const auto* bytes = std::get_if<std::int64_t>(&arg.value); bytes != nullptr && *bytes > 0)
                sizes.push_back(*bytes);
            return false;
        });
    }
    if (sizes.empty()) return std::nullopt;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::ranges::nth_element(sizes, middle);
    return *middle;
}

StepValueMap statedValues(const Run& run) {
    StepValueMap all;
    const auto files = extract(run, kStepValues);
    if (!files.ok()) return all;
    for (std::size_t file = 0; file < files.value().size(); ++file) {
        const auto replica = replicaOf(run.inputs()[file], run.places);
        if (!replica) continue;
        for (const auto& [step, values] : files.value()[file])
            all[{step, *replica}].fill(values);
    }
    return all;
}

StepValues valuesOf(const StepValueMap& all, const StepTimeline& step) {
    const auto known = all.find({step.index, step.replica});
    return known == all.end() ? StepValues{} : known->second;
}

} // namespace bubblescope
