#pragma once

#include "app/gui/models/session.h"
#include "core/demo/demo_traces.h"

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// Where a demo's trace lies in the user's cache, whether it is there already or not.
[[nodiscard]] QString demoFile(const QString& name);
/// Whether these paths are one of demoFile().
[[nodiscard]] bool isDemo(const QStringList& paths);

/// A loader that first writes demos that are asked for and are not there yet.
[[nodiscard]] RunLoader withDemos(RunLoader loader);

[[nodiscard]] QString demoName(const DemoTrace& demo);
/// In the user's language.
[[nodiscard]] QString demoTitle(const DemoTrace& demo);
[[nodiscard]] QString demoSays(const DemoTrace& demo);

} // namespace bubblescope::gui
