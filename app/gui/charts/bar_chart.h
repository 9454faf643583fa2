#pragma once

#include "app/gui/charts/axis.h"
#include "app/gui/theme/theme.h"
#include "core/base/time.h"

#include <QAbstractScrollArea>
#include <QRectF>
#include <QString>

#include <functional>
#include <set>
#include <vector>

namespace bubblescope::gui {

/// A part of a bar. `piece` is an identifier chosen by the owner.
struct BarPart {
    int piece = 0;
    TimeNs time{0}; ///< may be negative
};

/// A stacked bar: positive parts extend to the right of 0, negative ones to the left.
struct Bar {
    QString name;
    std::vector<BarPart> parts;

    /// Total of the negative parts; the next function returns the total of the positive parts.
    [[nodiscard]] TimeNs below() const;
    [[nodiscard]] TimeNs above() const;
};

/// Geometry of the bars, which are rows of equal height with names on the left. Coordinates are logical pixels from the
/// top left corner of the unscrolled chart.
class BarLayout {
public:
    static constexpr int kAxisHeight = 20;

    BarLayout() = default;
    BarLayout(const std::vector<Bar>& bars, int width, int name_width, int row_height);

    struct Part {
        QRectF rect;
        int bar = 0;
        int part = 0;
        bool clipped = false; ///< true if the bar is an outlier that is cut off at the edge of the chart
    };
    [[nodiscard]] int contentHeight() const { return kAxisHeight + static_cast<int>(bars_->size()) * row_height_; }
    [[nodiscard]] int rowTop(int bar) const { return kAxisHeight + bar * row_height_; }
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// Parts of the bars between two vertical positions. Omits parts of width 0.
    [[nodiscard]] std::vector<Part> parts(int top, int bottom) const;
    /// The part at a point. `part` is −1 outside the parts of a row; `bar` is −1 outside all rows.
    [[nodiscard]] Part at(double x, double y) const;
    [[nodiscard]] double x(double ns) const { return left_ + axis_.fraction(ns) * (width_ - left_); }
    [[nodiscard]] const Axis& axis() const { return axis_; }

private:
    void addBar(int bar, std::vector<Part>& out) const;

    const std::vector<Bar>* bars_ = nullptr;
    Axis axis_;
    double left_ = 0;
    double width_ = 0;
    int row_height_ = 1;
};

/// Clickable stacked bars, one per row, with tooltips. Scrolls if necessary.
class BarChart : public QAbstractScrollArea {
    Q_OBJECT

public:
    BarChart(ThemeManager& themes, QWidget* parent = nullptr);

    /// Functions that define the appearance: Colour returns the colour of a piece, ToolTip the HTML tooltip of a part.
    using Colour = std::function<QColor(const Theme&, int piece)>;
    using ToolTip = std::function<QString(int bar, int part)>;
    void setLook(Colour colour, ToolTip tool_tip);
    void setBars(std::vector<Bar> bars);
    /// Draws a frame around a part; −1 removes it.
    void setMarked(int bar, int part);
    /// Highlights the row of the current bar; −1 if there is none.
    void setCurrent(int bar);
    [[nodiscard]] bool hasMarked() const { return marked_bar_ >= 0; }
    [[nodiscard]] const std::vector<Bar>& bars() const { return bars_; }
    /// Pieces that occur in the bars, for a legend.
    [[nodiscard]] std::set<int> usedPieces() const;
    /// Rectangle of a part in viewport coordinates; for tests.
    [[nodiscard]] QRectF partRect(int bar, int part) const;

signals:
    /// `part` is −1 for a click outside the parts of a bar.
    void clicked(int bar, int part);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void paintBars(QPainter& painter);
    void relayout();
    void paintAxis(QPainter& painter) const;
    [[nodiscard]] int nameWidth() const;

    ThemeManager& themes_;
    std::vector<Bar> bars_;
    BarLayout layout_;
    Colour colour_;
    ToolTip tool_tip_;
    int marked_bar_ = -1;
    int marked_part_ = -1;
    int current_ = -1;
};

} // namespace bubblescope::gui
