#pragma once

#include "core/base/time.h"

#include <functional>
#include <utility>

namespace bubblescope::runtime {

/// Time in a bubble, as the rank's device goes by it.
class SlotClock {
public:
    virtual ~SlotClock() = default;
    [[nodiscard]] virtual TimeNs now() const = 0;
    /// Whether all that the rank waits for is there by now.
    [[nodiscard]] virtual bool arrived() = 0;
    /// The device does this work; from when to when. Where ops take their nominal time it takes that of its own, which
    /// may be none.
    virtual std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) = 0;
    /// Whether work of a nominal time takes just that.
    [[nodiscard]] virtual bool emulates() const = 0;
};

} // namespace bubblescope::runtime
