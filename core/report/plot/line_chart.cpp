#include "core/report/plot/line_chart.h"

#include "core/report/svg/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace bubblescope::plot {
namespace {

// Okabe and Ito's colours, which colour-blind readers can distinguish.
constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#56b4e9", "#e69f00", "#000000"};
constexpr std::string_view kInk = "#000000";
constexpr std::string_view kGrid = "#dddddd";

constexpr double kPanelWidth = 232;
constexpr double kPanelHeight = 180;
constexpr double kLeft = 48; ///< left of a panel, for the numbers
constexpr double kTop = 24;
constexpr double kBelow = 34; ///< below a panel, for the labels and title of the places
constexpr double kRight = 12;
constexpr double kLetters = 9;
constexpr double kLegendRow = 15;

std::string_view colourOf(std::size_t series) {
    return kColours[series % kColours.size()];
}

std::vector<double> dashesOf(std::size_t series) {
    constexpr std::array<std::array<double, 2>, 3> kDashes{{{0, 0}, {5, 2}, {1.5, 2}}};
    const auto& [on, off] = kDashes[series % kDashes.size()];
    return on == 0 ? std::vector<double>{} : std::vector<double>{on, off};
}

/// Circle, square, triangle, diamond: by series.
std::vector<Point> markAt(Point at, std::size_t series) {
    constexpr double kSize = 2.8;
    constexpr std::array<std::size_t, 4> kCorners{16, 4, 3, 4};
    constexpr std::array<double, 4> kTurns{0, 0.125, 0.75, 0};
    const std::size_t shape = series % kCorners.size();
    std::vector<Point> corners;
    for (std::size_t i = 0; i < kCorners[shape]; ++i) {
        const double turn = kTurns[shape] + static_cast<double>(i) / static_cast<double>(kCorners[shape]);
        corners.push_back({at.x + kSize * std::cos(turn * 2 * M_PI), at.y + kSize * std::sin(turn * 2 * M_PI)});
    }
    return corners;
}

std::vector<Point> box(double left, double top, double right, double bottom) {
    return {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
}

/// Draws one panel at its place on the canvas.
class PanelPainter {
public:
    PanelPainter(Canvas& canvas, const Chart& chart, const Panel& panel, double left)
        : canvas_(canvas), chart_(chart), panel_(panel), left_(left + kLeft),
          right_(left + kLeft + kPanelWidth - kLeft - kRight), top_(kTop), bottom_(kTop + kPanelHeight) {
        double largest = 0;
        for (const auto& line : panel.values) {
            for (const auto& value : line)
                largest = std::max(largest, value.value_or(0));
        }
        ticks_ = roundTicks(largest);
    }

    void paint() {
        grid();
        chart_.at.empty() ? bars() : lines();
        canvas_.line(box(left_, top_, right_, bottom_), kInk, 0.6);
        canvas_.line({{left_, bottom_}, {left_, top_}}, kInk, 0.6);
        canvas_.text({(left_ + right_) / 2, top_ - 8}, panel_.title, kInk, kLetters, Anchor::Middle);
        canvas_.text({(left_ + right_) / 2, bottom_ + kBelow - 7}, chart_.places_title, kInk, kLetters, Anchor::Middle);
    }

private:
    [[nodiscard]] double y(double value) const { return bottom_ - value / ticks_.back() * (bottom_ - top_); }
    [[nodiscard]] double slot() const { return (right_ - left_) / static_cast<double>(chart_.places.size()); }
    [[nodiscard]] double x(std::size_t place) const {
        if (chart_.at.empty()) return left_ + (static_cast<double>(place) + 0.5) * slot();
        const auto [least, most] = std::ranges::minmax(chart_.at);
        constexpr double kInside = 8; // so that marks do not touch the frame
        const double share = most > least ? (chart_.at[place] - least) / (most - least) : 0.5;
        return left_ + kInside + share * (right_ - left_ - 2 * kInside);
    }

    void grid() {
        for (const double tick : ticks_) {
            if (tick > 0) canvas_.line({{left_, y(tick)}, {right_, y(tick)}}, kGrid, 0.5);
            canvas_.text({left_ - 4, y(tick) + kLetters * 0.35}, fmt::format("{:g}", tick), kInk, kLetters,
                         Anchor::End);
        }
        double free_from = left_ - kLeft;
        for (std::size_t i = 0; i < chart_.places.size(); ++i) {
            const double half = svg::textWidth(chart_.places[i], kLetters) / 2;
            if (x(i) - half < free_from) continue; // labels would overlap
            free_from = x(i) + half + 2;
            canvas_.text({x(i), bottom_ + 12}, chart_.places[i], kInk, kLetters, Anchor::Middle);
        }
    }

    void lines() {
        for (std::size_t s = 0; s < panel_.values.size(); ++s) {
            std::vector<Point> run;
            const auto end = [&] {
                if (run.size() > 1) canvas_.line(run, colourOf(s), 1.3, dashesOf(s));
                for (const Point& each : run)
                    canvas_.shape(markAt(each, s), colourOf(s));
                run.clear();
            };
            for (std::size_t i = 0; i < panel_.values[s].size(); ++i) {
                if (const auto& value = panel_.values[s][i])
                    run.push_back({x(i), y(*value)});
                else
                    end();
            }
            end();
        }
    }

    void bars() {
        const double width = 0.8 * slot() / static_cast<double>(std::max<std::size_t>(1, panel_.values.size()));
        for (std::size_t s = 0; s < panel_.values.size(); ++s) {
            for (std::size_t i = 0; i < panel_.values[s].size(); ++i) {
                if (!panel_.values[s][i]) continue;
                const double begin =
                    left_ + static_cast<double>(i) * slot() + 0.1 * slot() + static_cast<double>(s) * width;
                canvas_.shape(box(begin, y(*panel_.values[s][i]), begin + width, bottom_), colourOf(s));
            }
        }
    }

    Canvas& canvas_;
    const Chart& chart_;
    const Panel& panel_;
    std::vector<double> ticks_;
    double left_;
    double right_;
    double top_;
    double bottom_;
};

/// The position of each entry of the legend, in as many rows as needed.
std::vector<Point> legendPlaces(const Chart& chart, double width, double top) {
    std::vector<Point> places;
    double x = kLeft;
    double y = top;
    for (const std::string& name : chart.series) {
        const double needed = 30 + svg::textWidth(name, kLetters) + 10;
        if (x > kLeft && x + needed > width) {
            x = kLeft;
            y += kLegendRow;
        }
        places.push_back({x, y});
        x += needed;
    }
    return places;
}

} // namespace

std::vector<double> roundTicks(double largest) {
    if (!(largest > 0)) return {0, 1};
    const double size = std::pow(10, std::floor(std::log10(largest / 5)));
    const auto fits = [&](double step) { return largest / (step * size) <= 5.000001; };
    constexpr std::array<double, 4> kSteps{1, 2, 5, 10};
    const double step = *std::ranges::find_if(kSteps, fits) * size;
    std::vector<double> ticks;
    for (int i = 0; ticks.empty() || ticks.back() < largest * 0.999999; ++i)
        ticks.push_back(i * step);
    return ticks;
}

Canvas draw(const Chart& chart) {
    Canvas canvas;
    canvas.title = chart.title;
    canvas.width = kPanelWidth * static_cast<double>(chart.panels.size()) + kRight;
    const double legend_top = kTop + kPanelHeight + kBelow + 8;
    const std::vector<Point> legend = legendPlaces(chart, canvas.width, legend_top);
    canvas.height = (legend.empty() ? legend_top : legend.back().y) + kLegendRow;
    for (std::size_t i = 0; i < chart.panels.size(); ++i)
        PanelPainter(canvas, chart, chart.panels[i], kPanelWidth * static_cast<double>(i)).paint();
    for (std::size_t s = 0; s < legend.size(); ++s) {
        const auto [x, y] = legend[s];
        if (chart.at.empty()) {
            canvas.shape(box(x + 8, y - 4, x + 18, y + 4), colourOf(s));
        } else {
            canvas.line({{x, y}, {x + 24, y}}, colourOf(s), 1.3, dashesOf(s));
            canvas.shape(markAt({x + 12, y}, s), colourOf(s));
        }
        canvas.text({x + 30, y + kLetters * 0.35}, chart.series[s], kInk, kLetters);
    }
    return canvas;
}

} // namespace bubblescope::plot
