#include "core/report/svg/frame.h"

#include "core/report/svg/axis.h"
#include "core/report/svg/legend.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::svg {

std::string openDrawing(double width, double height, std::string_view title) {
    Document head;
    const std::string size = fmt::format("{} {}", number(width), number(height));
    head.open("svg", fmt::format(R"(xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {}" )"
                                 R"(font-family="{}" font-size="{}" fill="{}")",
                                 number(width), number(height), size, kFonts, kTextSize, colours::kText));
    head.filled("title", title);
    drawDefinitions(head);
    head.rect({0, 0, width, height}, {}, fmt::format(R"(rx="6" fill="{}")", colours::kGround));
    return head.take();
}

double drawAxis(Document& document, const Rect& plot, double y, TimeNs from, TimeNs to, double width) {
    constexpr double kTickRoom = 80; // between labelled marks
    y += 2;
    const double per_pixel = static_cast<double>((to - from).count()) / plot.width;
    const auto x = [&](TimeNs time) { return plot.x + static_cast<double>((time - from).count()) / per_pixel; };
    const auto ticks = makeTicks(from, to, TimeNs{static_cast<std::int64_t>(kTickRoom * per_pixel)});
    document.open("g", fmt::format(R"(stroke="{}")", colours::kDimText));
    document.line(plot.x, y, plot.right(), y);
    for (const Tick& tick : ticks)
        document.line(x(tick.at), y, x(tick.at), y + (tick.label.empty() ? 3 : 6));
    document.close("g");
    document.open("g", fmt::format(R"(fill="{}" text-anchor="middle")", colours::kDimText));
    for (const Tick& tick : ticks) {
        const double half = textWidth(tick.label, kTextSize) / 2;
        if (!tick.label.empty()) document.text(std::min(x(tick.at), width - 4 - half), y + 18, tick.label);
    }
    document.close("g");
    return y + 28;
}

} // namespace bubblescope::svg
