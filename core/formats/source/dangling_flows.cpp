#include "core/formats/source/dangling_flows.h"

#include "core/formats/source/file_extract.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bubblescope {
namespace {

/// Replaces the result for extracts, which contain few arrows, with what they store for their originals.
void takeFromExtracts(const Trace& trace, FlowEnds& ends) {
    const auto isExtract = [&](std::uint32_t file) { return trace.files()[file].extract != nullptr; };
    std::erase_if(ends.shared, [&](const SharedArrow& arrow) { return isExtract(arrow.file); });
    for (std::uint32_t file = 0; file < ends.dangling.size(); ++file) {
        if (!isExtract(file)) continue;
        const FlowEnds& original = trace.files()[file].extract->flows;
        ends.dangling[file] = original.dangling.front();
        for (SharedArrow arrow : original.shared) {
            arrow.file = file;
            arrow.first -= trace.origin();
            ends.shared.push_back(arrow);
        }
    }
    std::ranges::stable_sort(ends.shared, [](const SharedArrow& a, const SharedArrow& b) {
        return std::pair(a.id, a.first) < std::pair(b.id, b.first);
    });
}

} // namespace

FlowEnds flowEnds(const Trace& trace) {
    struct Arrow {
        std::uint32_t file; ///< where it was seen first
        bool global;        ///< may have ends in other files
        TimeNs first;
        int ends; ///< number of ends that touch a slice
    };
    FlowEnds out;
    out.dangling.resize(trace.files().size());
    std::vector<Arrow> arrows; // arrows with one id
    const auto points = trace.flowPoints();
    for (std::size_t i = 0; i < points.size(); ++i) {
        const FlowPoint& point = points[i];
        const std::uint32_t file = trace.tracks()[point.track].file;
        auto arrow = std::find_if(arrows.begin(), arrows.end(), [&](const Arrow& known) {
            return known.global == point.global && (known.global || known.file == file);
        });
        if (arrow == arrows.end()) arrow = arrows.insert(arrow, {file, point.global, point.time, 0});
        if (point.slice != kNoId) ++arrow->ends;
        if (i + 1 < points.size() && points[i + 1].id == point.id) continue;
        for (const Arrow& known : arrows) {
            if (known.global)
                out.shared.push_back({point.id, known.first, known.file, known.ends});
            else
                out.dangling[known.file] += known.ends < 2 ? 1 : 0;
        }
        arrows.clear();
    }
    const auto isExtract = [](const TraceFile& file) { return file.extract != nullptr; };
    if (std::ranges::any_of(trace.files(), isExtract)) takeFromExtracts(trace, out);
    return out;
}

void noteDanglingFlows(FlowEnds ends, std::span<const TraceFile> files, DiagnosticLog& log) {
    std::vector<std::int64_t>& dangling = ends.dangling;
    const std::vector<SharedArrow>& shared = ends.shared;
    for (std::size_t i = 0; i < shared.size();) {
        const SharedArrow& seen_first = shared[i];
        std::int64_t touching = 0;
        for (; i < shared.size() && shared[i].id == seen_first.id; ++i)
            touching += shared[i].ends;
        dangling[seen_first.file] += touching < 2 ? 1 : 0;
    }
    for (std::size_t file = 0; file < dangling.size(); ++file) {
        if (dangling[file] == 0) continue;
        log.add("dangling-flow", files[file].path.string(), say("skipped flow arrows with a missing end"),
                dangling[file]);
    }
}

} // namespace bubblescope
