#pragma once

#include "app/gui/charts/axis.h"
#include "app/gui/theme/theme.h"
#include "core/base/time.h"

#include <QAbstractScrollArea>
#include <QRectF>
#include <QString>

#include <cstddef>
#include <functional>
#include <vector>

namespace bubblescope::gui {

/// A piece of a bar. `piece` is for the owner to tell what it is.
struct BarPart {
    int piece = 0;
    TimeNs time{0}; ///< may be negative
};

/// A bar of parts one behind the other: those above 0 to the right, those below 0 to the left.
struct Bar {
    QString name;
    std::vector<BarPart> parts;

    /// Sums of the parts below and above 0.
    [[nodiscard]] TimeNs below() const;
    [[nodiscard]] TimeNs above() const;
};

/// Where bars lie: rows of equal height, names to the left. Logical pixels from the chart's top left corner, not
/// scrolled. Pure geometry.
class BarLayout {
public:
    static constexpr int kAxisHeight = 20;

    BarLayout() = default;
    BarLayout(const std::vector<Bar>& bars, int width, int name_width, int row_height);

    struct Part {
        QRectF rect;
        int bar = 0;
        int part = 0;
        bool clipped = false; ///< ends at the chart's edge since the bar is an outlier
    };
    [[nodiscard]] int contentHeight() const { return kAxisHeight + static_cast<int>(bars_->size()) * row_height_; }
    [[nodiscard]] int rowTop(int bar) const { return kAxisHeight + bar * row_height_; }
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// Of the bars between two heights. Parts of no width are left out.
    [[nodiscard]] std::vector<Part> parts(int top, int bottom) const;
    /// The part at a point; `part` is −1 in a row beside its parts, `bar` −1 outside all rows.
    [[nodiscard]] Part at(double x, double y) const;
    [[nodiscard]] double x(double ns) const { return left_ + axis_.share(ns) * (width_ - left_); }
    [[nodiscard]] const Axis& axis() const { return axis_; }

private:
    void addBar(int bar, std::vector<Part>& out) const;

    const std::vector<Bar>* bars_ = nullptr;
    Axis axis_;
    double left_ = 0;
    double width_ = 0;
    int row_height_ = 1;
};

/// Stacked bars, one a row, that can be pointed at and clicked. Scrolls where there are many.
class BarChart : public QAbstractScrollArea {
    Q_OBJECT

public:
    BarChart(ThemeManager& themes, QWidget* parent = nullptr);

    /// What a piece looks like, and what the tooltip of a part says (HTML).
    using Colour = std::function<QColor(const Theme&, int piece)>;
    using Words = std::function<QString(int bar, int part)>;
    void setLook(Colour colour, Words words);
    void setBars(std::vector<Bar> bars);
    /// Drawn framed: −1 for none.
    void setMarked(int bar, int part);
    /// The row that is current, on its own ground: −1 for none.
    void setCurrent(int bar);
    [[nodiscard]] const std::vector<Bar>& bars() const { return bars_; }
    /// Where a part is drawn in the viewport; for tests.
    [[nodiscard]] QRectF partRect(int bar, int part) const;

signals:
    /// `part` is −1 for a click beside the parts of a bar.
    void clicked(int bar, int part);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void relayout();
    void paintAxis(QPainter& painter) const;
    [[nodiscard]] int nameWidth() const;

    ThemeManager& themes_;
    std::vector<Bar> bars_;
    BarLayout layout_;
    Colour colour_;
    Words words_;
    int marked_bar_ = -1;
    int marked_part_ = -1;
    int current_ = -1;
};

} // namespace bubblescope::gui
