#pragma once

#include "core/base/diagnostic.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// An arrow whose ends may be in several files.
struct SharedArrow {
    std::uint64_t id = 0;
    TimeNs first{0};        ///< time of the earliest end of the arrow
    std::uint32_t file = 0; ///< file of that end
    int ends = 0;           ///< number of ends that touch a slice
};

/// The ends of the arrows in a trace.
struct FlowEnds {
    std::vector<std::int64_t> dangling; ///< per file: number of its internal arrows that cannot be drawn
    std::vector<SharedArrow> shared;    ///< by id
};

/// For extracts, returns the stored values of the originals. Linear in the number of arrow ends.
[[nodiscard]] FlowEnds flowEnds(const Trace& trace);

/// Counts, per file, the arrows that cannot be drawn because fewer than two of their ends touch a slice:
/// "dangling-flow". `ends` must belong to a trace with these files.
void noteDanglingFlows(FlowEnds ends, std::span<const TraceFile> files, DiagnosticLog& log);

} // namespace bubblescope
