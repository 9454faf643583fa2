#pragma once

#include "app/gui/charts/mark_labels.h"
#include "app/gui/charts/step_layout.h"
#include "app/gui/theme/theme_manager.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QString>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <optional>
#include <vector>

namespace bubblescope::gui {

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
