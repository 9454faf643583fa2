#pragma once

#include "app/gui/charts/axis.h"

#include <QPointF>
#include <QRectF>

#include <vector>

namespace bubblescope::gui {

/// One curve over steps: a plot of its own, all plots share the horizontal axis.
struct StepCurve {
    std::vector<double> values; ///< one a step; NaN where it is not known
    bool from_zero = true;
};

/// Where the curves of a step chart lie, in logical pixels. Pure geometry.
class StepLayout {
public:
    StepLayout() = default;
    /// Curves share the height below each other, with `gap` between for what is written there.
    StepLayout(const std::vector<StepCurve>& curves, const QRectF& area, double gap);

    [[nodiscard]] std::size_t curves() const { return plots_.size(); }
    [[nodiscard]] const QRectF& plot(std::size_t curve) const { return plots_[curve]; }
    [[nodiscard]] const Axis& axis(std::size_t curve) const { return axes_[curve]; }
    [[nodiscard]] double x(std::size_t step) const;
    /// Held at the plot's edge for values outside the axis.
    [[nodiscard]] double y(std::size_t curve, double value) const;
    [[nodiscard]] bool outside(std::size_t curve, double value) const;
    /// A point a step; of unknown values with a y that is none.
    [[nodiscard]] std::vector<QPointF> line(std::size_t curve, const std::vector<double>& values) const;
    /// The step nearest to a horizontal place.
    [[nodiscard]] int stepAt(double x) const;
    /// Distance between two steps.
    [[nodiscard]] double pitch() const;

private:
    std::vector<QRectF> plots_;
    std::vector<Axis> axes_;
    std::size_t steps_ = 0;
};

} // namespace bubblescope::gui
