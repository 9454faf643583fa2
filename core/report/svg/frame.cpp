#include "core/report/svg/frame.h"

#include "core/report/svg/axis.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

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
    constexpr double kTickRoom = 80; // distance between labelled marks
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

namespace {

constexpr double kSize = 11;
constexpr double kSwatch = 12;
constexpr double kLegendLine = 19;
constexpr int kMaxShades = 6; ///< swatches of one strip

constexpr std::array kKinds{std::pair{OpKind::Forward, "forward"}, std::pair{OpKind::Backward, "backward"},
                            std::pair{OpKind::BackwardInput, "backward for the input"},
                            std::pair{OpKind::BackwardWeight, "backward for the weights"},
                            std::pair{OpKind::Optimizer, "optimizer"}};

std::string fillAttribute(const Paint& paint) {
    return fmt::format(R"(fill="{}")", fillOf(paint));
}

/// Places entries from left to right and starts a new line if one would not fit.
class Lines {
public:
    Lines(Document& document, const Rect& area) : document_(document), area_(area), x_(area.x), y_(area.y) {}

    void entry(double swatch_width, std::string_view text, const std::function<void(const Rect&)>& swatch) {
        const double width = (swatch_width > 0 ? swatch_width + 6 : 0) + textWidth(text, kSize) + 14;
        if (x_ > area_.x && x_ + width - 14 > area_.right()) {
            x_ = area_.x;
            y_ += kLegendLine;
        }
        if (swatch_width > 0) swatch({x_, y_ + 2, swatch_width, kSwatch});
        document_.text(x_ + (swatch_width > 0 ? swatch_width + 6 : 0), y_ + 12, text);
        x_ += width;
    }

    [[nodiscard]] double bottom() const { return y_ + kLegendLine; }

private:
    Document& document_;
    Rect area_;
    double x_;
    double y_;
};

/// The meaning of the shades, from full to light.
std::string shadesText(const Shades& shades) {
    const auto range = [](std::string_view what, int count) { return fmt::format("{}s 0 to {}", what, count - 1); };
    if (shades.slices <= 1) return range("chunk", shades.chunks);
    if (shades.chunks <= 1) return range("sequence slice", shades.slices);
    return range("chunk", shades.chunks) + ", within it " + range("slice", shades.slices);
}

} // namespace

void LegendContent::note(const std::vector<Box>& boxes, double row_height) {
    for (const Box& box : boxes) {
        if (box.paint) kinds.insert(box.paint->kind);
        bubbles = bubbles || !box.paint;
        labels = labels || !box.label.empty();
        second_route = second_route || box.second_route;
        pairs = pairs || box.rect.height < 0.75 * row_height;
    }
}

double drawLegend(Document& document, const LegendContent& content, const Rect& area) {
    document.open("g", fmt::format(R"(fill="{}" font-size="{}")", colours::kDimText, kSize));
    Lines lines(document, area);
    for (const auto& [kind, name] : kKinds) {
        if (content.kinds.contains(kind))
            lines.entry(kSwatch, name, [&document, fill = fillAttribute({kind, 0, 1})](const Rect& at) {
                document.rect(at, {}, fill);
            });
    }
    if (content.bubbles) lines.entry(kSwatch, "bubble", [&](const Rect& at) { document.rect(at, {}, kHatched); });
    const int steps = content.shades.chunks * content.shades.slices;
    if (steps > 1) {
        const int shown = std::min(steps, kMaxShades);
        lines.entry(kSwatch * shown, shadesText(content.shades), [&](const Rect& at) {
            for (int i = 0; i < shown; ++i) {
                const Paint paint{OpKind::Forward, i * (steps - 1) / (shown - 1), steps};
                document.rect({at.x + i * kSwatch, at.y, kSwatch, at.height}, {}, fillAttribute(paint));
            }
        });
    }
    if (content.second_route) {
        lines.entry(kSwatch, "second pipeline, from the last rank to the first", [&](const Rect& at) {
            document.rect(at, {}, fillAttribute({OpKind::Forward, 0, 1}));
            document.rect(routeBar(at), {}, fmt::format(R"(fill="{}")", colours::kText));
        });
    }
    if (content.pairs) {
        lines.entry(kSwatch, "at the same time", [&](const Rect& at) {
            const double half = at.height / 2;
            document.rect({at.x, at.y, at.width, half - 0.5}, {}, fillAttribute({OpKind::Forward, 0, 1}));
            document.rect({at.x, at.y + half + 0.5, at.width, half - 0.5}, {}, fillAttribute({OpKind::Backward, 0, 1}));
        });
    }
    if (content.labels)
        lines.entry(0, content.shades.slices > 1 ? "numbers: micro-batch and slice" : "numbers: micro-batch", {});
    document.close("g");
    return lines.bottom();
}

void drawDefinitions(Document& document) {
    const auto stop = [&](std::string_view offset, const char* colour) {
        document.empty("stop", fmt::format(R"(offset="{}" stop-color="{}")", offset, colour));
    };
    document.open("defs");
    document.open("linearGradient", R"(id="bubble" gradientUnits="userSpaceOnUse" spreadMethod="repeat" )"
                                    R"(x1="0" y1="0" x2="3.54" y2="3.54")");
    // Half a pixel of transition between the colours, as antialiased edges have.
    stop("0", colours::kBubbleHatch);
    stop("0.19", colours::kBubbleHatch);
    stop("0.28", colours::kBubbleGround);
    stop("0.91", colours::kBubbleGround);
    stop("1", colours::kBubbleHatch);
    document.close("linearGradient");
    document.close("defs");
}

Rect routeBar(const Rect& op) {
    const double height = std::clamp(op.height * 0.12, 1.5, 2.5);
    return {op.x, op.bottom() - height, op.width, height};
}

} // namespace bubblescope::svg
