#include "core/recognise/found_ops.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/name_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

// NVTX ranges named by op: "F3" is the forward of micro-batch 3, "B3.1" the backward of chunk 1. Sail's zero-bubble
// runtime and our own write them so. An op's time is that of the device work launched in its range; without device
// work (a trace of the host alone) the range's own.
namespace bubblescope {
namespace {

struct Name {
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = 0;
    std::int64_t chunk = 0;
};

std::optional<Name> parseName(std::string_view text) {
    if (text == "Optimizer") return Name{OpKind::Optimizer, 0, 0};
    if (text.size() < 2) return std::nullopt;
    const auto kind = opKindFromLetter(text.front());
    if (!kind || *kind == OpKind::Optimizer) return std::nullopt;
    text.remove_prefix(1);
    Name name{*kind, 0, 0};
    const auto microbatch = takeNumber(text);
    if (!microbatch) return std::nullopt;
    name.microbatch = *microbatch;
    if (text.empty()) return name;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
    const auto chunk = takeNumber(text);
    if (!chunk || !text.empty()) return std::nullopt;
    name.chunk = *chunk;
    return name;
}

struct Range {
    Name name;
    std::string_view text;
    std::uint32_t file = 0;
    std::int64_t process = 0;
    std::int64_t work_process = 0; ///< the process's number for GpuWork
    TimeNs start{0};
    TimeNs end{0};
};

std::vector<Range> rangesOf(const Trace& trace) {
    std::vector<Range> ranges;
    const StringId category = trace.strings().find("nvtx");
    if (category == 0) return ranges;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.sliceCategories()[slice] != category) continue;
        const auto name = parseName(trace.name(slice));
        if (!name) continue;
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        ranges.push_back({*name, trace.name(slice), track.file, track.pid, GpuWork::processOf(trace, track),
                          trace.start(slice), trace.end(slice)});
    }
    std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
    return ranges;
}

} // namespace

FoundOps findNvtxOps(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    const std::vector<Range> ranges = rangesOf(trace);
    if (ranges.empty()) return found;
    const bool split = std::any_of(ranges.begin(), ranges.end(),
                                   [](const Range& range) { return range.name.kind == OpKind::BackwardWeight; });
    // Processes in ascending order are the pipeline's ranks, unless their files know better.
    std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> homes;
    for (const Range& range : ranges)
        homes.emplace(std::pair(range.file, range.process), 0);
    std::int64_t next = 0;
    for (auto& [process, home] : homes) {
        const auto stated = trace.files()[process.first].rank;
        home = stated ? *stated : next;
        ++next;
    }
    if (homes.size() > 1) {
        log.add("guessed-ranks", trace.files().front().path.string(),
                "ranges do not say their rank; processes in the order of their numbers are taken for ranks");
    }

    const GpuWork work(trace);
    std::map<std::pair<std::int64_t, std::string_view>, std::int64_t> seen; // how often, which tells the step
    for (const Range& range : ranges) {
        FoundOp op;
        op.home = homes.at({range.file, range.process});
        op.step = seen[{op.home, range.text}]++;
        op.kind = split && range.name.kind == OpKind::Backward ? OpKind::BackwardInput : range.name.kind;
        op.microbatch = range.name.microbatch;
        op.part = range.name.chunk;
        const auto span = work.launchedIn(range.file, range.work_process, range.start, range.end);
        op.start = span ? span->start : range.start;
        op.end = span ? span->end : range.end;
        op.device_idle = span ? span->idle : TimeNs{0};
        found.ops.push_back(op);
    }
    return found;
}

} // namespace bubblescope
