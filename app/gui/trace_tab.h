#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/panels/compare_panel.h"

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// A trace that is open, with what its view showed when another tab came in front. While its tab is in front, the
/// views' state is the truth, and what stands here is what they showed before.
struct TraceTab {
    QStringList paths; ///< opened together; none while the tab is empty, and of a run that is watched
    QString title;     ///< of the window; empty while the tab is empty
    SessionPtr session;
    ViewSnapshot view;
    KeptComparison comparison;
    bool ideal = false; ///< whether the ideal step was shown
    bool live = false;  ///< the run that is watched

    [[nodiscard]] bool empty() const { return !session && !live; }
};

/// A trace that is to be opened, and how.
struct TraceRequest {
    QStringList paths;
    bool own_tab = false;             ///< in a tab of its own, unless the one in front is empty
    std::optional<ViewSnapshot> view; ///< else as each trace is shown first
    QStringList compare;
    bool ideal = false;
};

} // namespace bubblescope::gui
