#pragma once

#include "core/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::gui {

/// An arrow between two slices, as recorded.
struct SliceFlow {
    FlowPoint from;
    FlowPoint to;
};

/// The arrows of a trace: each point of a flow is tied to the next one. Memory: 8 bytes an arrow. Immutable.
class SliceFlows {
public:
    SliceFlows() = default;
    explicit SliceFlows(std::shared_ptr<const Trace> trace);

    [[nodiscard]] std::size_t size() const { return by_begin_.size(); }
    /// By the time of their begin.
    [[nodiscard]] SliceFlow operator[](std::size_t at) const { return flow(by_begin_[at]); }
    /// The first that begins at a time or later.
    [[nodiscard]] std::size_t firstFrom(TimeNs time) const;
    /// The arrows that begin or end at a slice. Logarithmic, plus the arrows within the slice's time.
    [[nodiscard]] std::vector<SliceFlow> of(SliceId slice) const;
    /// The slice where an arrow of this one ends, or where one that ends here begins; kNoId if there is none.
    [[nodiscard]] SliceId follow(SliceId slice, bool forward) const;

private:
    [[nodiscard]] SliceFlow flow(std::uint32_t point) const;

    std::shared_ptr<const Trace> trace_;
    std::vector<std::uint32_t> by_begin_; ///< the first point of each
    std::vector<std::uint32_t> by_end_;   ///< the same arrows, ordered by the time of their end
};

} // namespace bubblescope::gui
