#include "core/io/dangling_flows.h"

#include <algorithm>
#include <vector>

namespace bubblescope {

void noteDanglingFlows(const Trace& trace, DiagnosticLog& log) {
    struct Arrow {
        std::uint32_t file; ///< in which it was seen first
        bool global;        ///< its ends may be in other files too
        int ends;           ///< that touch a slice
    };
    std::vector<std::int64_t> dangling(trace.files().size());
    std::vector<Arrow> arrows; // of one id
    const auto points = trace.flowPoints();
    for (std::size_t i = 0; i < points.size(); ++i) {
        const FlowPoint& point = points[i];
        const std::uint32_t file = trace.tracks()[point.track].file;
        auto arrow = std::find_if(arrows.begin(), arrows.end(), [&](const Arrow& known) {
            return known.global == point.global && (known.global || known.file == file);
        });
        if (arrow == arrows.end()) arrow = arrows.insert(arrow, {file, point.global, 0});
        if (point.slice != kNoId) ++arrow->ends;
        if (i + 1 < points.size() && points[i + 1].id == point.id) continue;
        for (const Arrow& known : arrows)
            dangling[known.file] += known.ends < 2 ? 1 : 0;
        arrows.clear();
    }
    for (std::size_t file = 0; file < dangling.size(); ++file) {
        if (dangling[file] == 0) continue;
        log.add("dangling-flow", trace.files()[file].path.string(),
                "arrows of which only one end is in the trace, or touches a slice, are not drawn", dangling[file]);
    }
}

} // namespace bubblescope
