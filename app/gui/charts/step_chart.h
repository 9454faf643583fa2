#pragma once

#include "app/gui/charts/axis.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/model_use.h"
#include "core/timeline/step_values.h"

#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// A vertical mark with a label; lengths are in logical pixels.
struct MarkPlace {
    double x = 0;
    double width = 0;   ///< width of the label
    int importance = 0; ///< labels with higher values are placed first
};

/// Position of a mark's label.
struct MarkLabel {
    std::size_t mark = 0;
    double left = 0;
    double width = 0; ///< less than the full width if the label is elided
};

/// Places labels between `left` and `right` without overlap, in order of importance; of equally important labels, the
/// rightmost is placed first. A label is placed to the right of its mark, to the left, or shortened on the right, in
/// this order of preference. A label is omitted if too little of it fits. The result is sorted from left to right.
[[nodiscard]] std::vector<MarkLabel> placeMarkLabels(const std::vector<MarkPlace>& marks, double left, double right);

/// Values of one curve over the steps. Each curve has a separate plot; all plots share the horizontal axis.
struct StepCurve {
    std::vector<double> values; ///< one value per step; NaN if unknown
    bool from_zero = true;
};

/// Geometry of the curves in a step chart, in logical pixels.
class StepLayout {
public:
    StepLayout() = default;
    /// Stacks the plots, with a `gap` for titles between them.
    StepLayout(const std::vector<StepCurve>& curves, const QRectF& area, double gap);

    [[nodiscard]] std::size_t curves() const { return plots_.size(); }
    [[nodiscard]] const QRectF& plot(std::size_t curve) const { return plots_[curve]; }
    [[nodiscard]] const Axis& axis(std::size_t curve) const { return axes_[curve]; }
    [[nodiscard]] double x(std::size_t step) const;
    /// Values outside the axis are clamped to the plot.
    [[nodiscard]] double y(std::size_t curve, double value) const;
    [[nodiscard]] bool outside(std::size_t curve, double value) const;
    /// Returns one point per step; y is NaN for unknown values.
    [[nodiscard]] std::vector<QPointF> line(std::size_t curve, const std::vector<double>& values) const;
    /// The step nearest to `x`.
    [[nodiscard]] int stepAt(double x) const;
    /// Horizontal distance between two steps.
    [[nodiscard]] double pitch() const;

private:
    std::vector<QRectF> plots_;
    std::vector<Axis> axes_;
    std::size_t steps_ = 0;
};

/// Stacked plots of values over the steps of a run. A click selects a step; dragging selects a range.
class StepChart : public QWidget {
    Q_OBJECT

public:
    explicit StepChart(ThemeManager& themes, QWidget* parent = nullptr);

    struct Curve {
        QString title;
        StepCurve data;
        std::function<QString(double)> text; ///< formats a value for the axis and the tooltip
        std::function<QColor(const Theme&)> colour;
        std::vector<double> expected = {};           ///< drawn dashed; one value per step (NaN if unknown), or empty
        std::vector<std::vector<double>> lines = {}; ///< thin lines behind the curve; each is a list like `expected`
        std::function<QStringList(const std::vector<double>&)> ticks =
            {}; ///< labels of the axis; by default formatted by `text`
    };
    /// Marks a step at which something changes.
    struct Mark {
        int step = 0; ///< index in the curves
        QString text; ///< a few words, shown next to the mark if there is space
        bool bad = false;
        std::optional<Severity> severity = std::nullopt; ///< determines colour and importance
        QStringList all = {};                            ///< lines of the tooltip; `text` if empty
    };
    /// Visible labels from left to right, with their positions; for tests.
    [[nodiscard]] std::vector<MarkLabel> labels() const;
    /// Reasons for excluding steps from the statistics, by step index; shown in tooltips.
    using Aside = std::map<int, QString>;
    void setCurves(std::vector<Curve> curves, std::vector<int> numbers, std::vector<Mark> marks, Aside aside = {});
    /// Selects a step; −1 clears the selection.
    void setCurrent(int step);
    /// Position of a step's value on a curve; for tests.
    [[nodiscard]] QPointF pointOf(int step, std::size_t curve) const;
    [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
    [[nodiscard]] const Aside& aside() const { return aside_; }
    [[nodiscard]] QSize sizeHint() const override;

signals:
    void stepChosen(int step);
    void rangeChosen(int first, int last);

protected:
    /// Empty curves from which the charts of runs are created.
    [[nodiscard]] static Curve timeCurve();
    [[nodiscard]] static Curve bubbleRateCurve();
    /// Loss and tokens per second, given the step durations `walls` in nanoseconds. Omits curves without known values.
    [[nodiscard]] static std::vector<Curve> statedCurves(const std::vector<StepValues>& values,
                                                         const std::vector<double>& walls);

    /// Model FLOPs utilisation, given the step durations `walls` in nanoseconds. NaN if unknown.
    [[nodiscard]] static Curve useCurve(const ModelUse& use, const std::vector<double>& walls);

    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Ticks on the axis of a curve, with their labels.
    [[nodiscard]] static std::vector<std::pair<double, QString>> ticksOf(const Curve& curve, const Axis& axis);
    [[nodiscard]] StepLayout plotLayout() const;
    [[nodiscard]] int axisWidth() const;
    void paintCurve(QPainter& painter, const StepLayout& layout, std::size_t curve) const;
    void paintMarks(QPainter& painter, const StepLayout& layout) const;
    [[nodiscard]] std::vector<MarkLabel> labelsOn(const StepLayout& layout) const;
    [[nodiscard]] QColor colourOf(const Mark& mark) const;
    void paintNumbers(QPainter& painter, const StepLayout& layout) const;
    [[nodiscard]] QString toolTipAt(int step) const;

    ThemeManager& themes_;
    std::vector<Curve> curves_;
    std::vector<int> numbers_;
    std::vector<Mark> marks_;
    Aside aside_;
    int current_ = -1;
    int press_ = -1; ///< step under the pointer when the button was pressed
    int drag_ = -1;  ///< step at the other end of the drag
};

} // namespace bubblescope::gui
