#pragma once

#include <QIcon>

namespace bubblescope::gui {

/// The app's icons.
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
inline constexpr std::size_t kIconShapeCount = 12;

/// An icon drawn with lines in the colours of the application's current palette, at any size and scale. Checked actions
/// show it in the highlight colour.
[[nodiscard]] QIcon drawnIcon(IconShape shape);

} // namespace bubblescope::gui
