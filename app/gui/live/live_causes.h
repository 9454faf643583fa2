#pragma once

#include "app/gui/live/live_feed.h"

#include <QString>

#include <string>
#include <vector>

namespace bubblescope::gui {

/// Alerts of a watched run that have one cause: a slow rank or link, a device that computes wrong results, a process
/// that is late or gone. Alerts about consequences, such as longer steps, belong to the cause that explains them.
struct LiveCause {
    std::string identity;                 ///< equal for the same cause in later snapshots
    std::vector<const LiveAlert*> alerts; ///< of the snapshot; the one that describes the cause best comes first
    int first = 0;                        ///< number of the step in which it began
    std::optional<int> last;              ///< number of the step after which it ended; none while an alert is open

    [[nodiscard]] const LiveAlert& main() const { return *alerts.front(); }
};

/// The causes of all alerts; those that began last come first. They point into `snapshot`.
[[nodiscard]] std::vector<LiveCause> causesOf(const LiveSnapshot& snapshot);
/// The most severe open cause, or the latest of equally severe ones; null if there is none.
[[nodiscard]] const LiveAlert* worstOpen(const LiveSnapshot& snapshot);
/// False if an alert only adds to a cause that was reported before and is described better by another alert.
[[nodiscard]] bool isNews(const LiveAlert& alert, const LiveSnapshot& snapshot);

} // namespace bubblescope::gui
