#include "core/report/svg/palette.h"

#include "core/base/text.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace bubblescope::svg {
namespace {

using Rgb = std::array<int, 3>;

Rgb parse(std::string_view text) {
    Rgb rgb{};
    for (std::size_t i = 0; i < rgb.size(); ++i)
        rgb[i] = parseNumber<int>(text.substr(1 + 2 * i, 2), 16).value_or(0);
    return rgb;
}

const char* colourOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return colours::kForward;
    case OpKind::Backward: return colours::kBackward;
    case OpKind::BackwardInput: return colours::kBackwardInput;
    case OpKind::BackwardWeight: return colours::kBackwardWeight;
    case OpKind::Optimizer: break;
    }
    return colours::kOptimizer;
}

/// Relative luminance as WCAG defines it.
double luminance(const Rgb& rgb) {
    const auto linear = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
}

} // namespace

std::string fillOf(const Paint& paint) {
    Rgb rgb = parse(colourOf(paint.kind));
    if (paint.steps > 1) {
        const Rgb ground = parse(colours::kGround);
        const double share = colours::kChunkMix * paint.step / (paint.steps - 1);
        for (std::size_t i = 0; i < rgb.size(); ++i)
            rgb[i] = static_cast<int>(std::lround(rgb[i] + (ground[i] - rgb[i]) * share));
    }
    return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

std::string_view textOn(std::string_view fill) {
    // Where contrast with black and with white are equal.
    return luminance(parse(fill)) > 0.179 ? colours::kText : colours::kGround;
}

} // namespace bubblescope::svg
