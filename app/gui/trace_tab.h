#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/panels/compare_panel.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// An open trace, with its view as of when another tab came to the front. For the tab in front ViewState is current,
/// and these members are out of date.
struct TraceTab {
    QStringList paths; ///< opened together; empty for empty tabs and watched runs
    QString title;     ///< empty for an empty tab
    SessionPtr session;
    ViewSnapshot view;
    std::optional<TimeRange> seen; ///< see TraceTabs::seenOfBeginning()
    SavedComparison comparison;
    bool ideal = false;            ///< whether the ideal step was shown
    Taught taught;                 ///< where the pipeline is, if the user stated that
    bool first_steps_only = false; ///< or the first slices: the tab has no more, and the load of all goes on
    bool live = false;             ///< whether this is the watched run
    QString alert;                 ///< the worst open alert of a watched run, for its tab; empty if there is none
    /// Why the trace of a saved session is not loaded. Everything else is as it was saved, and is saved again.
    std::optional<Error> failure;

    [[nodiscard]] bool empty() const { return !session && !live && !failure; }
};

[[nodiscard]] TraceTab tabOf(const QStringList& paths, SessionPtr session, Taught taught);
/// The last part of the first path.
[[nodiscard]] QString nameOfTrace(const QStringList& paths);
/// The title with what is shown of the trace, for the tab bar.
[[nodiscard]] QString titleOf(const TraceTab& tab);

/// Leaves out what means something else once more of the trace is loaded.
void forgetPartOfTrace(ViewSnapshot& view);

[[nodiscard]] QStringList toStrings(const std::vector<std::filesystem::path>& paths);
[[nodiscard]] std::vector<std::filesystem::path> toFiles(const QStringList& paths);

} // namespace bubblescope::gui
