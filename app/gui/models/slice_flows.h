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

/// The arrows of a trace: each point of a flow is connected to the next one. Memory: 8 bytes per arrow. Immutable.
class SliceFlows {
public:
    SliceFlows() = default;
    explicit SliceFlows(std::shared_ptr<const Trace> trace);

    [[nodiscard]] std::size_t size() const { return by_begin_.size(); }
    /// In order of their start.
    [[nodiscard]] SliceFlow operator[](std::size_t at) const { return flow(by_begin_[at]); }
    /// Index of the first arrow that begins at a time or later.
    [[nodiscard]] std::size_t firstFrom(TimeNs time) const;
    /// The arrows that begin or end at a slice. Logarithmic in the number of arrows, plus those within the slice's
    /// time.
    [[nodiscard]] std::vector<SliceFlow> of(SliceId slice) const;
    /// The slice where an arrow from this one ends, or where an arrow to it begins; kNoId if there is none.
    [[nodiscard]] SliceId follow(SliceId slice, bool forward) const;

private:
    [[nodiscard]] SliceFlow flow(std::uint32_t point) const;

    std::shared_ptr<const Trace> trace_;
    std::vector<std::uint32_t> by_begin_; ///< the first point of each arrow
    std::vector<std::uint32_t> by_end_;   ///< the same arrows, ordered by the time of their end
};

} // namespace bubblescope::gui
