#pragma once

#include "core/recognise/trace_share.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace bubblescope {

/// Asks the shares of a trace for the largest value of each file's counters of memory, in bytes.
struct MemoryPeaks {
    static constexpr std::string_view kName = "memory peaks";
    using Answer = std::map<std::uint32_t, double>; ///< by file; none for files without such counters
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire&, MemoryPeaks&) {}

} // namespace bubblescope
