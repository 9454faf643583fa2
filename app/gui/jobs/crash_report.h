#pragma once

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// Folder for crash reports: bubblescope/crashes in XDG_STATE_HOME or ~/.local/state.
[[nodiscard]] QString crashFolder();

/// Installs handlers for signals such as SIGSEGV and for uncaught exceptions. Before the process ends, the handlers
/// write a report to `folder`: version, build ID, signal and call stack, but no trace data. Call once, early in main().
void reportCrashes(const QString& folder, const QString& program);

/// Returns the unread reports, newest first, and marks them as read. Deletes all but the ten newest reports.
[[nodiscard]] QStringList takeNewCrashReports(const QString& folder);

} // namespace bubblescope::gui
