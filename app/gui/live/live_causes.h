#pragma once

#include "app/gui/live/live_feed.h"

#include <string>
#include <vector>

namespace bubblescope::gui {

/// Alerts of a watched run with a common cause: a slow rank or link, a device that computes wrong results, or a process
/// that is late or lost. Alerts about consequences, such as longer steps, belong to the cause that explains them.
struct LiveCause {
    std::string identity;                 ///< identifies the cause across snapshots
    std::vector<const LiveAlert*> alerts; ///< alerts in the snapshot; the alert that describes the cause best is first
    int first = 0;                        ///< number of the step in which the cause started
    std::optional<int> last;              ///< step number after which the cause ended; none while an alert is open

    [[nodiscard]] const LiveAlert& main() const { return *alerts.front(); }
};

/// Causes of all alerts, the most recent first. The result points into `snapshot`.
[[nodiscard]] std::vector<LiveCause> causesOf(const LiveSnapshot& snapshot);
/// Main alert of the most severe open cause (the most recent of equally severe ones). Null if no cause is open.
[[nodiscard]] const LiveAlert* worstOpen(const LiveSnapshot& snapshot);
/// False if the cause of the alert was reported before and another alert describes the cause better.
[[nodiscard]] bool isNews(const LiveAlert& alert, const LiveSnapshot& snapshot);

} // namespace bubblescope::gui
