#pragma once

#include "app/gui/models/session.h"
#include "core/demo/demo_traces.h"

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// Path of a demo trace in the user's cache; the file need not exist.
[[nodiscard]] QString demoFile(const QString& name);
/// True if the paths are those of a demo trace.
[[nodiscard]] bool isDemo(const QStringList& paths);

/// Extends a loader so that it creates demo traces that do not exist yet.
[[nodiscard]] RunLoader withDemos(RunLoader loader);

[[nodiscard]] QString demoName(const DemoTrace& demo);
/// Title of the demo in the user's language.
[[nodiscard]] QString demoTitle(const DemoTrace& demo);
[[nodiscard]] QString demoDescription(const DemoTrace& demo);

} // namespace bubblescope::gui
