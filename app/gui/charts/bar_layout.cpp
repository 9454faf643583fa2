#include "app/gui/charts/bar_layout.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kGap = 3; ///< above and below a bar in its row

double ns(TimeNs time) {
    return static_cast<double>(time.count());
}

} // namespace

TimeNs Bar::below() const {
    TimeNs sum{0};
    for (const BarPart& part : parts)
        sum += std::min(TimeNs{0}, part.time);
    return sum;
}

TimeNs Bar::above() const {
    TimeNs sum{0};
    for (const BarPart& part : parts)
        sum += std::max(TimeNs{0}, part.time);
    return sum;
}

BarLayout::BarLayout(const std::vector<Bar>& bars, int width, int name_width, int row_height)
    : bars_(&bars), left_(name_width), width_(std::max(name_width + 10, width - 12)), row_height_(row_height) {
    std::vector<double> ends;
    double lowest = 0;
    for (const Bar& bar : bars) {
        ends.push_back(ns(bar.above()));
        lowest = std::min(lowest, ns(bar.below()));
    }
    axis_ = robustAxis(ends, true);
    axis_.low = lowest;
}

void BarLayout::addBar(int bar, std::vector<Part>& out) const {
    double right = 0;
    double left = 0;
    const auto& parts = (*bars_)[static_cast<std::size_t>(bar)].parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        double& end = parts[i].time < TimeNs{0} ? left : right;
        const double from = end;
        end += ns(parts[i].time);
        const double x1 = std::round(x(std::min(from, end)));
        const double x2 = std::round(std::min(x(std::max(from, end)), width_));
        if (x2 <= x1) continue;
        const QRectF rect(x1, rowTop(bar) + kGap, x2 - x1, std::max(1, row_height_ - 2 * kGap));
        out.push_back({rect, bar, static_cast<int>(i), end > axis_.high});
    }
}

std::vector<BarLayout::Part> BarLayout::parts(int top, int bottom) const {
    std::vector<Part> out;
    if (bars_ == nullptr) return out;
    const int count = static_cast<int>(bars_->size());
    const int first = std::clamp((top - kAxisHeight) / row_height_, 0, count);
    for (int bar = first; bar < count && rowTop(bar) < bottom; ++bar)
        addBar(bar, out);
    return out;
}

BarLayout::Part BarLayout::at(double x, double y) const {
    Part none{{}, -1, -1, false};
    if (bars_ == nullptr || y < kAxisHeight) return none;
    const int bar = static_cast<int>((y - kAxisHeight) / row_height_);
    if (bar >= static_cast<int>(bars_->size())) return none;
    none.bar = bar;
    std::vector<Part> parts;
    addBar(bar, parts);
    for (const Part& part : parts) {
        if (x >= part.rect.left() && x < part.rect.right()) return part;
    }
    return none;
}

} // namespace bubblescope::gui
