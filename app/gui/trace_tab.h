#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/panels/compare_panel.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// An open trace, with its view from when another tab came to the front. For the tab in front ViewState is current, and
/// these members may be out of date.
struct TraceTab {
    QStringList paths; ///< opened together; empty for empty tabs and watched runs
    QString title;     ///< empty for an empty tab
    SessionPtr session;
    ViewSnapshot view;
    std::optional<TimeRange> seen; ///< see TraceTabs::seenOfBeginning()
    SavedComparison comparison;
    bool ideal = false;            ///< true if the ideal step was shown
    Taught taught;                 ///< how to find the pipeline, if the user specified that
    bool first_steps_only = false; ///< the tab has only the first steps or slices; the complete load continues
    bool live = false;             ///< true if this is the watched run
    QString alert;                 ///< the worst open alert of a watched run, shown in its tab; empty if there is none
    /// The reason why the trace of a saved session is not loaded. Everything else is kept as it was saved, and saved
    /// again.
    std::optional<Error> failure;

    [[nodiscard]] bool empty() const { return !session && !live && !failure; }
};

[[nodiscard]] TraceTab tabOf(const QStringList& paths, SessionPtr session, Taught taught);
/// The last part of the first path.
[[nodiscard]] QString nameOfTrace(const QStringList& paths);
/// The title for the tab bar, including what is shown of the trace.
[[nodiscard]] QString titleOf(const TraceTab& tab);

/// Removes everything that will mean something else once more of the trace is loaded.
void forgetPartOfTrace(ViewSnapshot& view);

[[nodiscard]] QStringList toStrings(const std::vector<std::filesystem::path>& paths);
[[nodiscard]] std::vector<std::filesystem::path> toFiles(const QStringList& paths);

} // namespace bubblescope::gui
