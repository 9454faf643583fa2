#pragma once

#include <string_view>

namespace bubblescope::colours {

// Fill colours of ops on light backgrounds, used both in the app's light theme and in exported drawings. The colours
// differ in hue and lightness, so that colour-blind readers and readers of greyscale prints can distinguish them.
inline constexpr const char* kForward = "#2f6db5";
inline constexpr const char* kBackward = "#f0b13c";
inline constexpr const char* kBackwardInput = "#d9642f";
inline constexpr const char* kBackwardWeight = "#b5e3cd";
inline constexpr const char* kOptimizer = "#574785";

inline constexpr const char* kGround = "#ffffff";
inline constexpr const char* kText = "#1d232a";
inline constexpr const char* kDimText = "#5d6873";
inline constexpr const char* kBubbleGround = "#f1f2f4";
inline constexpr const char* kBubbleHatch = "#c4cad1";

/// Fraction of the background colour in the colour of the highest chunk.
inline constexpr double kChunkMix = 0.5;

struct Rgb {
    int red = 0;
    int green = 0;
    int blue = 0;
};

/// Parses "#rrggbb".
[[nodiscard]] Rgb parseRgb(std::string_view text);

/// Mixes two colours; `share` is the fraction of `to`.
[[nodiscard]] Rgb mixed(const Rgb& from, const Rgb& to, double share);

/// True if black text is more readable than white text on the background `ground`: its relative luminance (WCAG) is
/// higher than the value for which both contrasts are equal.
[[nodiscard]] bool takesBlackText(const Rgb& ground);

} // namespace bubblescope::colours
