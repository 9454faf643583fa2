#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/panels/compare_panel.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// An open trace with its view. The view is saved when another tab is selected; until then, ViewState has the current
/// view, and the members here may be out of date.
struct TraceTab {
    QStringList paths; ///< files opened together; empty for empty tabs and watched runs
    QString title;     ///< empty for an empty tab
    SessionPtr session;
    ViewSnapshot view;
    std::optional<TimeRange> seen; ///< range that was visible in the preview; see TraceTabs::seenOfBeginning()
    SavedComparison comparison;
    bool ideal = false;            ///< true if the ideal step was shown
    Taught taught;                 ///< hints for finding the pipeline, if the user specified any
    bool first_steps_only = false; ///< true for a preview while the complete trace is being loaded
    bool live = false;             ///< true if this is the watched run
    QString alert;                 ///< most severe open alert of a watched run, shown in its tab; may be empty
    /// Reason why a trace of a saved session was not loaded. The other members then keep their saved values for the
    /// next save.
    std::optional<Error> failure;

    [[nodiscard]] bool empty() const { return !session && !live && !failure; }
};

[[nodiscard]] TraceTab tabOf(const QStringList& paths, SessionPtr session, Taught taught);
/// Last component of the first path.
[[nodiscard]] QString nameOfTrace(const QStringList& paths);
/// Title in the tab bar, which indicates whether only a part of the trace is shown.
[[nodiscard]] QString titleOf(const TraceTab& tab);

/// Removes data that becomes invalid when the complete trace is loaded.
void forgetPartOfTrace(ViewSnapshot& view);

[[nodiscard]] QStringList toStrings(const std::vector<std::filesystem::path>& paths);
[[nodiscard]] std::vector<std::filesystem::path> toFiles(const QStringList& paths);

} // namespace bubblescope::gui
