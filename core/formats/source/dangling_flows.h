#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// An arrow whose ends may lie in several files, as seen from one part of a trace.
struct SharedArrow {
    std::uint64_t id = 0;
    TimeNs first{0};        ///< time of its earliest end
    std::uint32_t file = 0; ///< file of that end, as an index into those of the whole trace
    int ends = 0;           ///< that touch a slice
};

/// How the arrows of a part of a trace end.
struct FlowEnds {
    std::vector<std::int64_t> dangling; ///< by file of the part: arrows within it that cannot be drawn
    std::vector<SharedArrow> shared;    ///< by id
};

/// `first_file`: the index of the part's first file in the whole trace. Linear in the ends of arrows.
[[nodiscard]] FlowEnds flowEnds(const Trace& trace, std::uint32_t first_file = 0);

/// Counts, by file, the arrows that cannot be drawn because fewer than two of their ends touch a slice:
/// "dangling-flow". `parts` are those of a whole trace in the order of `files`.
void noteDanglingFlows(std::vector<FlowEnds> parts, std::span<const TraceFile> files, DiagnosticLog& log);

} // namespace bubblescope
