#pragma once

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// The folder of crash reports: bubblescope/crashes in XDG_STATE_HOME or ~/.local/state.
[[nodiscard]] QString crashFolder();

/// From now on, a signal such as SIGSEGV or an uncaught exception leaves a text file in `folder` before it ends this
/// process as usual: version, build ID, signal and call stack, nothing about traces. Call it once, early in main().
void reportCrashes(const QString& folder, const QString& program);

/// The reports that were not read yet, newest first. They are marked as read by this call; the ten newest are kept.
[[nodiscard]] QStringList takeNewCrashReports(const QString& folder);

} // namespace bubblescope::gui
