#include "app/gui/charts/step_layout.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

StepLayout::StepLayout(const std::vector<StepCurve>& curves, const QRectF& area, double gap) {
    if (curves.empty()) return;
    steps_ = curves.front().values.size();
    const auto count = static_cast<double>(curves.size());
    const double height = std::max(10.0, (area.height() - gap * count) / count);
    double top = area.top() + gap;
    for (const StepCurve& curve : curves) {
        plots_.emplace_back(area.left(), top, area.width(), height);
        axes_.push_back(robustAxis(curve.values, curve.from_zero));
        top += height + gap;
    }
}

double StepLayout::pitch() const {
    return plots_.empty() || steps_ == 0 ? 1 : plots_.front().width() / static_cast<double>(steps_);
}

double StepLayout::x(std::size_t step) const {
    return plots_.front().left() + (static_cast<double>(step) + 0.5) * pitch();
}

double StepLayout::y(std::size_t curve, double value) const {
    const QRectF& plot = plots_[curve];
    return plot.bottom() - std::clamp(axes_[curve].share(value), 0.0, 1.0) * plot.height();
}

bool StepLayout::outside(std::size_t curve, double value) const {
    return value < axes_[curve].low || value > axes_[curve].high;
}

std::vector<QPointF> StepLayout::line(std::size_t curve, const std::vector<double>& values) const {
    std::vector<QPointF> points;
    points.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        points.emplace_back(x(i), y(curve, values[i]));
    return points;
}

int StepLayout::stepAt(double x) const {
    if (plots_.empty() || steps_ == 0) return -1;
    const auto step = static_cast<int>(std::floor((x - plots_.front().left()) / pitch()));
    return std::clamp(step, 0, static_cast<int>(steps_) - 1);
}

} // namespace bubblescope::gui
