#include "core/report/svg/draw_timelines.h"

#include "core/report/svg/axis.h"
#include "core/report/svg/frame.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace bubblescope::svg {
namespace {

constexpr double kHeadingSize = 13;
constexpr double kTextLine = 16;
constexpr double kLabelSize = 11; ///< largest size of the numbers on ops
constexpr double kSmallestLabelSize = 7.5;
constexpr double kRowGap = 3;
constexpr double kLaneHeight = 6;
constexpr std::array<const char*, 3> kLaneColours{colours::kOptimizer, colours::kForward, colours::kBackwardInput};

/// Breaks text at spaces into lines no wider than `width`.
std::vector<std::string> wrapped(std::string_view text, double size, double width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string word(text.substr(0, space));
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
        if (!lines.empty() && textWidth(lines.back() + " " + word, size) <= width) {
            lines.back() += " " + word;
        } else {
            lines.push_back(word);
        }
    }
    return lines;
}

double rowHeight(std::size_t ranks, bool shared) {
    const double height = ranks <= 8 ? 25 : ranks <= 16 ? 21 : ranks <= 32 ? 15 : 11;
    return shared ? height * 1.3 : height;
}

/// The end of the last op, optimizer ops included, from the start of the step.
TimeNs lastEnd(const StepTimeline& step) {
    TimeNs end = step.end;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops)
            end = std::max(end, op.end);
    }
    return end - step.begin;
}

class Drawing {
public:
    Drawing(std::span<const Panel> panels, const DrawOptions& options) : panels_(panels), options_(options) {}

    Result<std::string> draw() {
        BUBBLESCOPE_TRY(prepare());
        double y = kMargin;
        for (std::size_t i = 0; i < panels_.size(); ++i)
            y = panel(i, y);
        y = drawAxis(body_, plot_, y, options_.from, to_, options_.width);
        y = drawLegend(body_, legend_, {kMargin, y, options_.width - 2 * kMargin, 0}) + kMargin - 5;
        return openDrawing(options_.width, y, title()) + body_.take() + "</svg>\n";
    }

private:
    Status prepare() {
        TimeNs longest{0};
        std::size_t ranks = 0;
        for (const Panel& panel : panels_) {
            longest = std::max(longest, lastEnd(panel.step));
            ranks = std::max(ranks, panel.step.ranks.size());
        }
        if (ranks == 0) return usageError("no step to draw");
        to_ = options_.to.value_or(longest);
        if (options_.from < TimeNs{0} || to_ > kLatest) {
            return usageError(fmt::format("the time range to draw must lie between 0 and {}", shortTime(kLatest)),
                              "times are relative to the start of the step");
        }
        if (to_ <= options_.from) {
            return usageError(
                fmt::format("the time range to draw, {} to {}, is empty", shortTime(options_.from), shortTime(to_)),
                "times are relative to the start of the step");
        }
        for (const Rank rank : options_.ranks) {
            if (rank.value < 0 || rank.index() >= ranks) {
                return usageError(fmt::format("rank {} does not exist", rank.value),
                                  fmt::format("ranks are 0 to {}", ranks - 1));
            }
        }
        for (std::size_t r = 0; r < ranks; ++r)
            ranks_.push_back(Rank{r});
        if (!options_.ranks.empty()) ranks_ = options_.ranks;
        measure();
        if (plot_.width < kLeastPlot)
            return usageError(fmt::format("a width of {} is too small", number(options_.width)));
        return {};
    }

    /// Computes the measures that all panels share.
    void measure() {
        bool shared = false;
        for (const Panel& panel : panels_) {
            const Shades shades = Shades::of(panel.step);
            legend_.shades.chunks = std::max(legend_.shades.chunks, shades.chunks);
            legend_.shades.slices = std::max(legend_.shades.slices, shades.slices);
            for (const auto& ops : panel.step.ranks) {
                for (std::size_t i = 1; i < ops.size(); ++i)
                    shared = shared || ops[i].start < ops[i - 1].end;
            }
        }
        row_height_ = rowHeight(ranks_.size(), shared);
        const int last = std::ranges::max(ranks_).value;
        plot_.x = kMargin + textWidth(fmt::format("rank {}", last), kTextSize) + 6;
        plot_.width = options_.width - kMargin - 4 - plot_.x;
        label_size_ = labelSize();
    }

    /// One size for all labels: the largest at which all labels fit that fit at the smallest size.
    [[nodiscard]] double labelSize() const {
        const double scale = plot_.width / static_cast<double>((to_ - options_.from).count());
        double size = kLabelSize;
        for (const Panel& panel : panels_) {
            for (const auto& ops : panel.step.ranks) {
                for (const TimelineOp& op : ops) {
                    const double room = static_cast<double>(op.duration().count()) * scale - kLabelPadding - 1;
                    const double fits = room / textWidth(labelOf(op.op, legend_.shades), 1);
                    if (fits >= kSmallestLabelSize) size = std::min(size, fits);
                }
            }
        }
        return size;
    }

    [[nodiscard]] double x(TimeNs time) const {
        return plot_.x + plot_.width * static_cast<double>((time - options_.from).count()) /
                             static_cast<double>((to_ - options_.from).count());
    }

    double panel(std::size_t index, double y) {
        const Panel& panel = panels_[index];
        if (index > 0) y += 8;
        const double room = options_.width - 2 * kMargin;
        for (const std::string& line : wrapped(panel.heading, kHeadingSize * 1.12, room)) {
            body_.text(kMargin, y + 11, line, fmt::format(R"(font-size="{}" font-weight="bold")", kHeadingSize));
            y += kTextLine + 2;
        }
        for (const std::string& line : wrapped(panel.details, kTextSize, room)) {
            body_.text(kMargin, y + 10, line, fmt::format(R"(fill="{}")", colours::kDimText));
            y += kTextLine;
        }
        y += 4;
        return rows(panel, y);
    }

    double rows(const Panel& panel, double y) {
        const StepTimeline& step = panel.step;
        const auto bubbles = findBubbles(step);
        const double top = y;
        std::vector<Box> boxes;
        for (const Rank rank : ranks_) {
            if (rank.index() >= step.ranks.size()) continue;
            const Rect row{plot_.x, y, plot_.width, row_height_};
            body_.text(kMargin, y + row_height_ / 2 + 4, fmt::format("rank {}", rank.value),
                       fmt::format(R"(font-size="{}")", number(std::min(kTextSize, row_height_))));
            auto more = rowBoxes({step, rank, bubbles[rank.index()], legend_.shades, step.begin + options_.from,
                                  step.begin + to_, row, label_size_});
            std::ranges::move(more, std::back_inserter(boxes));
            y += row_height_ + kRowGap;
            if (rank.index() < panel.lanes.size()) y = lanes(panel.lanes[rank.index()], step.begin, y - kRowGap + 1);
        }
        paint(boxes);
        if (panels_.size() > 1 && step.wall() < to_ && step.wall() > options_.from) {
            const double end = x(step.wall());
            body_.line(end, top - 2, end, y - kRowGap + 2, fmt::format(R"(stroke="{}")", colours::kText));
        }
        return y;
    }

    /// Draws sends, receives and weights below each other. Bars on one lane may overlap, so they are translucent.
    double lanes(const std::vector<LaneBar>& bars, TimeNs begin, double y) {
        for (std::size_t lane = 0; lane < kLaneColours.size(); ++lane) {
            body_.open("g", fmt::format(R"(fill="{}" fill-opacity="0.75")", kLaneColours[lane]));
            for (const LaneBar& bar : bars) {
                if (static_cast<std::size_t>(bar.lane) != lane) continue;
                laneBar(bar.posted - begin, bar.start - begin, y, bar.title, kHatched);
                laneBar(bar.start - begin, bar.end - begin, y, bar.title, {});
            }
            body_.close("g");
            y += kLaneHeight + 1;
        }
        return y + kRowGap;
    }
    void laneBar(TimeNs from, TimeNs to, double y, const std::string& title, std::string_view attributes) {
        from = std::max(from, options_.from);
        to = std::min(to, to_);
        if (from < to) body_.rect({x(from), y, x(to) - x(from), kLaneHeight}, title, attributes);
    }

    /// Draws boxes of one colour as one group, then the bars, then the labels, grouped by style.
    void paint(const std::vector<Box>& boxes) {
        legend_.note(boxes, row_height_);
        std::map<std::string, std::vector<const Box*>> by_fill;
        std::map<std::pair<std::string, std::string>, std::vector<const Box*>> by_label;
        std::string bars;
        for (const Box& box : boxes) {
            const std::string fill = box.paint ? fillOf(*box.paint) : std::string{};
            by_fill[fill].push_back(&box);
            if (!box.label.empty()) by_label[{number(box.label_size), std::string(textOn(fill))}].push_back(&box);
            if (box.second_route) {
                const Rect bar = routeBar(box.rect);
                bars += fmt::format("M{} {}h{}v{}h-{}z", number(bar.x), number(bar.y), number(bar.width),
                                    number(bar.height), number(bar.width));
            }
        }
        for (const auto& [fill, group] : by_fill) {
            body_.open("g", fill.empty() ? std::string(kHatched) : fmt::format(R"(fill="{}")", fill));
            for (const Box* const box : group)
                body_.rect(box->rect, box->title);
            body_.close("g");
        }
        if (!bars.empty()) body_.empty("path", fmt::format(R"(fill="{}" d="{}")", colours::kText, bars));
        for (const auto& [looks, group] : by_label) {
            body_.open("g", fmt::format(R"(font-size="{}" fill="{}" text-anchor="middle" pointer-events="none")",
                                        looks.first, looks.second));
            for (const Box* const box : group) {
                const double bar = box->second_route ? routeBar(box->rect).height : 0;
                body_.text(box->rect.x + box->rect.width / 2,
                           box->rect.y + (box->rect.height - bar) / 2 + 0.36 * box->label_size, box->label);
            }
            body_.close("g");
        }
    }

    [[nodiscard]] std::string title() const {
        std::string title;
        for (const Panel& panel : panels_)
            title += (title.empty() ? "" : "; ") + panel.heading;
        return title;
    }

    std::span<const Panel> panels_;
    const DrawOptions& options_;
    TimeNs to_{0};
    std::vector<Rank> ranks_;
    Rect plot_; ///< area of the range from left to right
    double row_height_ = 0;
    double label_size_ = 0;
    LegendContent legend_;
    Document body_;
};

} // namespace

Result<std::string> drawTimelines(std::span<const Panel> panels, const DrawOptions& options) {
    return Drawing(panels, options).draw();
}

} // namespace bubblescope::svg
