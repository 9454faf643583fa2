#pragma once

#include "app/gui/models/session.h"
#include "core/demo/demo_traces.h"

#include <QString>
#include <QStringList>

namespace bubblescope::gui {

/// The path of a demo's trace in the user's cache, whether or not it exists.
[[nodiscard]] QString demoFile(const QString& name);
/// True if the paths are those of a demo.
[[nodiscard]] bool isDemo(const QStringList& paths);

/// A loader that creates requested demos first if they do not exist yet.
[[nodiscard]] RunLoader withDemos(RunLoader loader);

[[nodiscard]] QString demoName(const DemoTrace& demo);
/// The demo's title in the user's language.
[[nodiscard]] QString demoTitle(const DemoTrace& demo);
[[nodiscard]] QString demoDescription(const DemoTrace& demo);

} // namespace bubblescope::gui
