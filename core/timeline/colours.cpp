#include "core/timeline/colours.h"

#include "core/base/text.h"

#include <cmath>

namespace bubblescope::colours {

Rgb parseRgb(std::string_view text) {
    const auto part = [text](std::size_t at) { return parseNumber<int>(text.substr(at, 2), 16).value_or(0); };
    return {part(1), part(3), part(5)};
}

Rgb mixed(const Rgb& from, const Rgb& to, double share) {
    const auto part = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
    return {part(from.red, to.red), part(from.green, to.green), part(from.blue, to.blue)};
}

bool takesBlackText(const Rgb& ground) {
    const auto linear = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(ground.red) + 0.7152 * linear(ground.green) + 0.0722 * linear(ground.blue) > 0.179;
}

} // namespace bubblescope::colours
