#pragma once

#include "app/gui/theme/theme_manager.h"

#include <QSize>
#include <QStringList>

#include <optional>

namespace bubblescope::gui {

/// What the command line asks for.
struct Options {
    bool help = false;
    bool version = false;
    QString screenshot; ///< empty: interactive
    QSize size{1280, 800};
    std::optional<ThemeChoice> theme;
    std::optional<int> step; ///< the step's own number
    QStringList files;
};

/// Needs no application object. On wrong usage fills `error` and returns nothing.
[[nodiscard]] std::optional<Options> parseOptions(const QStringList& arguments, QString& error);
[[nodiscard]] QString helpText();

/// Whether a window could be shown here. False only where that is certain, so that a clear message can come
/// before the toolkit gives up.
[[nodiscard]] bool displayAvailable();

} // namespace bubblescope::gui
