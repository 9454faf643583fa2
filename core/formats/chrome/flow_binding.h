#pragma once

#include "core/trace/trace.h"

#include <optional>
#include <vector>

namespace bubblescope::chrome {

/// In this format an arrow's end has a thread and a time, and touches the innermost slice that covers it there. Finds
/// times that mean the slices they should.
class FlowBinding {
public:
    /// Linear in slices. The trace must outlive this object.
    explicit FlowBinding(const Trace& trace);

    /// `wanted` if it means the slice, else the first time that does. Nothing where no time means it: the slice is
    /// covered by others all over, or does not stand on a thread's own row.
    [[nodiscard]] std::optional<TimeNs> timeFor(SliceId slice, TimeNs wanted) const;

private:
    [[nodiscard]] SliceId innermostAt(const Track& track, TimeNs time) const;

    const Trace& trace_;
    std::vector<SliceId> parent_; ///< kNoId for the outermost
};

} // namespace bubblescope::chrome
