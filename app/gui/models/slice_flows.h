#pragma once

#include "core/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::gui {

/// A recorded flow arrow between two slices.
struct SliceFlow {
    FlowPoint from;
    FlowPoint to;
};

/// Flow arrows of a trace. Each arrow connects a point of a flow to the next one. Uses 8 bytes per arrow. Immutable.
class SliceFlows {
public:
    SliceFlows() = default;
    explicit SliceFlows(std::shared_ptr<const Trace> trace);

    [[nodiscard]] std::size_t size() const { return by_begin_.size(); }
    /// Returns the arrow with this index when sorted by start time.
    [[nodiscard]] SliceFlow operator[](std::size_t at) const { return flow(by_begin_[at]); }
    /// Index of the first arrow that starts at `time` or later.
    [[nodiscard]] std::size_t firstFrom(TimeNs time) const;
    /// Arrows that start or end at a slice. Logarithmic in the total number of arrows, linear in the number of arrows
    /// during the slice.
    [[nodiscard]] std::vector<SliceFlow> of(SliceId slice) const;
    /// Follows an arrow that starts (or, unless `forward`, ends) at `slice` to its other slice; kNoId if there is none.
    [[nodiscard]] SliceId follow(SliceId slice, bool forward) const;

private:
    [[nodiscard]] SliceFlow flow(std::uint32_t point) const;

    std::shared_ptr<const Trace> trace_;
    std::vector<std::uint32_t> by_begin_; ///< first point of each arrow, by start time
    std::vector<std::uint32_t> by_end_;   ///< the same arrows, by end time
};

} // namespace bubblescope::gui
