#pragma once

#include "app/gui/charts/axis.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A line across a chart that wants words beside it; lengths are logical pixels.
struct MarkPlace {
    double x = 0;
    double width = 0;   ///< of its words
    int importance = 0; ///< more goes first
};

/// Where words stand, beside their mark.
struct MarkLabel {
    std::size_t mark = 0;
    double left = 0;
    double width = 0; ///< less than the words want where these are to be elided
};

/// Finds room for words between `left` and `right` so that none touch: those that matter more first, of equals the
/// latest. Each stands to the right of its mark, else to its left, else on the right as much of it as fits; where that
/// would say nothing it is left out. The result goes from left to right.
[[nodiscard]] std::vector<MarkLabel> placeMarkLabels(const std::vector<MarkPlace>& marks, double left, double right);

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

/// Curves over the steps of a run, one below the other. A click chooses a step, a drag chooses several.
class StepChart : public QWidget {
    Q_OBJECT

public:
    explicit StepChart(ThemeManager& themes, QWidget* parent = nullptr);

    struct Curve {
        QString title;
        StepCurve data;
        std::function<QString(double)> text; ///< of a value, for axis and tooltip
        std::function<QColor(const Theme&)> colour;
        std::vector<double> expected; ///< drawn dashed; empty, or one a step, NaN where there is none
    };
    /// A step at which something changes.
    struct Mark {
        int step = 0; ///< place in the curves
        QString text; ///< a few words, written beside it where there is room
        bool bad = false;
        std::optional<Severity> severity = std::nullopt; ///< says the colour, and whose words go first
        QStringList all = {};                            ///< what the tooltip says; empty = the text
    };
    /// The words that are written now, from left to right, with their places; for tests.
    [[nodiscard]] std::vector<MarkLabel> labels() const;
    void setCurves(std::vector<Curve> curves, std::vector<int> numbers, std::vector<Mark> marks);
    /// −1 for none.
    void setCurrent(int step);
    /// Where a step's value of a curve is drawn; for tests.
    [[nodiscard]] QPointF pointOf(int step, std::size_t curve) const;
    [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
    [[nodiscard]] QSize sizeHint() const override;

signals:
    void stepChosen(int step);
    void rangeChosen(int first, int last);

protected:
    /// Curves that every view of a run has, without values yet.
    [[nodiscard]] static Curve timeCurve();
    [[nodiscard]] static Curve bubbleRateCurve();

    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
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
    int current_ = -1;
    int press_ = -1; ///< step under the button
    int drag_ = -1;  ///< the other end of a brush
};

} // namespace bubblescope::gui
