#include "core/formats/source/dangling_flows.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

FlowEnds flowEnds(const Trace& trace, std::uint32_t first_file) {
    struct Arrow {
        std::uint32_t file; ///< where it was seen first
        bool global;        ///< it may have ends in other files
        TimeNs first;
        int ends; ///< that touch a slice
    };
    FlowEnds out;
    out.dangling.resize(trace.files().size());
    std::vector<Arrow> arrows; // of one id
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
                out.shared.push_back({point.id, known.first, first_file + known.file, known.ends});
            else
                out.dangling[known.file] += known.ends < 2 ? 1 : 0;
        }
        arrows.clear();
    }
    return out;
}

void noteDanglingFlows(std::vector<FlowEnds> parts, std::span<const TraceFile> files, DiagnosticLog& log) {
    std::vector<std::int64_t> dangling;
    std::vector<SharedArrow> shared;
    for (FlowEnds& part : parts) {
        dangling.insert(dangling.end(), part.dangling.begin(), part.dangling.end());
        if (shared.empty())
            shared = std::move(part.shared);
        else
            shared.insert(shared.end(), part.shared.begin(), part.shared.end());
    }
    if (parts.size() > 1) {
        std::stable_sort(shared.begin(), shared.end(), [](const SharedArrow& a, const SharedArrow& b) {
            return std::pair(a.id, a.first) < std::pair(b.id, b.first);
        });
    }
    for (std::size_t i = 0; i < shared.size();) {
        const SharedArrow& seen_first = shared[i];
        int ends = 0;
        for (; i < shared.size() && shared[i].id == seen_first.id; ++i)
            ends += shared[i].ends;
        dangling[seen_first.file] += ends < 2 ? 1 : 0;
    }
    for (std::size_t file = 0; file < dangling.size(); ++file) {
        if (dangling[file] == 0) continue;
        log.add("dangling-flow", files[file].path.string(),
                say("arrows of which only one end is in the trace, or touches a slice, are not drawn"), dangling[file]);
    }
}

} // namespace bubblescope
