#pragma once

#include "app/gui/models/role.h"

#include <QColor>
#include <QPalette>

namespace bubblescope::gui {

/// All colours of the app in one variant. The op colours differ in hue and in lightness, so that they stay
/// apart for colour-blind people and on grey prints.
struct Theme {
    bool dark = false;
    QPalette palette;

    QColor timeline;     ///< ground of the rows
    QColor timeline_odd; ///< ground of every second row
    QColor header;       ///< rank names and ruler
    QColor line;         ///< separators
    QColor grid;         ///< tick lines through the rows
    QColor text;
    QColor text_dim;
    QColor bubble_ground; ///< under the hatching
    QColor bubble_hatch;
    QColor selection;
    QColor hover;
    QColor good;    ///< observed within the closed form
    QColor bad;     ///< observed beyond it
    QColor message; ///< ground of error messages
    QColor message_line;

    /// Ground colour; higher chunks of `chunks` are mixed towards the timeline's ground.
    [[nodiscard]] QColor fill(Role role, int chunk = 0, int chunks = 1) const;
};

/// Black or white, whichever reads better on `ground`.
[[nodiscard]] QColor textOn(const QColor& ground);

[[nodiscard]] const Theme& lightTheme();
[[nodiscard]] const Theme& darkTheme();

} // namespace bubblescope::gui
