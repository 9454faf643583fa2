#pragma once

#include "core/schedule/op.h"

#include <QColor>
#include <QPalette>

namespace bubblescope::gui {

/// What a colour stands for on the timeline.
enum class Role : std::uint8_t {
    Forward,
    Backward,
    BackwardInput,
    BackwardWeight,
    Optimizer,
    Bubble,
    Send,
    Receive,
    Wait,
    Check, ///< replayed work inside a bubble
};
inline constexpr std::size_t kRoleCount = 10;

[[nodiscard]] Role roleOf(OpKind kind);

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
