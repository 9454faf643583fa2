#pragma once

#include "app/gui/models/view_state.h"
#include "core/analysis/anomalies/anomaly.h"

#include <optional>

namespace bubblescope::gui {

/// Where on the timeline to look for an anomaly.
struct AnomalyTarget {
    int step = 0; ///< place in Run::steps: the anomaly's own, or else the one that is current
    std::optional<int> rank;
    ItemRef item;                      ///< the op or transfer that shows it best; may be none
    std::optional<TimeRange> range;    ///< when it happened, where that is known
    std::vector<Highlight> highlights; ///< all ops of a slow chunk
};

[[nodiscard]] AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step);
/// What the anomaly's cause would be otherwise, in the words of `whatif --if`: "stage:15=usual". Empty where there is
/// nothing to change.
[[nodiscard]] QString changeFor(const Session& session, const Anomaly& anomaly);
/// Moves the views there.
void goTo(ViewState& state, const Anomaly& anomaly);

} // namespace bubblescope::gui
