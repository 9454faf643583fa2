#pragma once

#include <QIcon>

namespace bubblescope::gui {

/// Icons of the app.
enum class IconShape : std::uint8_t {
    Open,
    Fit,
    Back,
    Forward,
    Search,
    Measure,
    Arrows,
    CriticalPath,
    Compare,
    Live,
    Run,
    Ideal,
};

/// Creates a scalable line icon in the colours of the application's current palette. Checked actions show the icon in
/// the highlight colour.
[[nodiscard]] QIcon drawnIcon(IconShape shape);

} // namespace bubblescope::gui
