#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <vector>

namespace bubblescope::query {

/// The slice that directly contains each slice on its track. Takes eight bytes per slice.
class Nesting {
public:
    Nesting() = default;
    /// Linear in the number of slices.
    explicit Nesting(const Trace& trace);

    [[nodiscard]] SliceId parentOf(SliceId slice) const { return parents_[slice]; } ///< kNoId for an outermost slice
    [[nodiscard]] std::uint32_t depthOf(SliceId slice) const { return depths_[slice]; }

private:
    void add(const Trace& trace, const Track& track);

    std::vector<SliceId> parents_;
    std::vector<std::uint32_t> depths_;
};

} // namespace bubblescope::query
