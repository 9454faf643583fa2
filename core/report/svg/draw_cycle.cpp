#include "core/report/svg/draw_cycle.h"

#include "core/report/svg/frame.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace bubblescope::svg {
namespace {

constexpr double kColumn = 190;
constexpr double kCallWidth = 110;
constexpr double kCallHeight = 24;
constexpr double kCallGap = 34;
constexpr double kHeading = 54; ///< from the top to the first call

class CycleDrawing {
public:
    explicit CycleDrawing(const std::vector<CycleCall>& cycle) : cycle_(cycle) {
        for (std::size_t i = 0; i < cycle.size(); ++i)
            columns_[cycle[i].rank].push_back(i);
        boxes_.resize(cycle.size());
        double x = kMargin;
        for (auto& [rank, calls] : columns_) {
            std::ranges::sort(calls, {}, [&](std::size_t call) { return cycle_[call].place; });
            for (std::size_t row = 0; row < calls.size(); ++row)
                boxes_[calls[row]] = {x + (kColumn - kCallWidth) / 2,
                                      kHeading + static_cast<double>(row) * (kCallHeight + kCallGap), kCallWidth,
                                      kCallHeight};
            x += kColumn;
        }
    }

    std::string draw(std::string_view title) {
        double bottom = 0;
        for (const Rect& box : boxes_)
            bottom = std::max(bottom, box.bottom());
        body_.text(kMargin, kMargin + 8, title, R"(font-weight="bold")");
        double x = kMargin;
        for (const auto& [rank, calls] : columns_) {
            body_.text(x + kColumn / 2, kHeading - 10, fmt::format("rank {}", rank), R"(text-anchor="middle")");
            x += kColumn;
        }
        for (std::size_t i = 0; i < cycle_.size(); ++i)
            arrow(boxes_[i], boxes_[(i + 1) % boxes_.size()], cycle_[i].why);
        for (std::size_t i = 0; i < cycle_.size(); ++i)
            call(boxes_[i], cycle_[i].name);
        const double width = std::max(x + kMargin, textWidth(title, kTextSize, true) + 2 * kMargin);
        return openDrawing(width, bottom + kMargin, title) + body_.take() + "</svg>\n";
    }

private:
    struct Point {
        double x = 0;
        double y = 0;
    };

    void call(const Rect& box, const std::string& name) {
        body_.rect(box, {}, fmt::format(R"(rx="4" fill="{}" stroke="{}")", colours::kBubbleGround, colours::kDimText));
        body_.text(box.x + box.width / 2, box.y + box.height / 2 + 4, name, R"(text-anchor="middle")");
    }

    /// The point where the line from a box's middle towards a point leaves the box.
    static Point edgeOf(const Rect& box, const Point& towards) {
        const Point middle{box.x + box.width / 2, box.y + box.height / 2};
        const double dx = towards.x - middle.x;
        const double dy = towards.y - middle.y;
        const double scale =
            std::min(dx == 0 ? 1e9 : box.width / 2 / std::abs(dx), dy == 0 ? 1e9 : box.height / 2 / std::abs(dy));
        return {middle.x + dx * scale, middle.y + dy * scale};
    }

    void arrow(const Rect& from, const Rect& to, const std::string& why) {
        const Point begin = edgeOf(from, {to.x + to.width / 2, to.y + to.height / 2});
        const Point end = edgeOf(to, {from.x + from.width / 2, from.y + from.height / 2});
        const std::string stroke = fmt::format(R"(stroke="{}" stroke-width="1.5")", colours::kBackwardInput);
        body_.line(begin.x, begin.y, end.x, end.y, stroke);
        const double angle = std::atan2(end.y - begin.y, end.x - begin.x);
        constexpr double kTip = 8;
        for (const double side : {0.4, -0.4}) {
            body_.line(end.x, end.y, end.x - kTip * std::cos(angle + side), end.y - kTip * std::sin(angle + side),
                       stroke);
        }
        // To the right of steep lines, above the others; a third of the way along, so that labels of crossing arrows do
        // not overlap.
        const bool steep = std::abs(end.y - begin.y) > std::abs(end.x - begin.x);
        body_.text(begin.x + (end.x - begin.x) / 3 + (steep ? 5 : 0),
                   begin.y + (end.y - begin.y) / 3 + (steep ? 4 : -4), why,
                   fmt::format(R"(font-size="9" fill="{}")", colours::kDimText));
    }

    const std::vector<CycleCall>& cycle_;
    std::map<int, std::vector<std::size_t>> columns_; ///< per rank, its calls
    std::vector<Rect> boxes_;
    Document body_;
};

} // namespace

std::string drawCycle(const std::vector<CycleCall>& cycle, std::string_view title) {
    return CycleDrawing(cycle).draw(title);
}

} // namespace bubblescope::svg
