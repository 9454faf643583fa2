#pragma once

#include "app/gui/charts/bar_layout.h"
#include "app/gui/theme/theme_manager.h"

#include <QAbstractScrollArea>

#include <functional>

namespace bubblescope::gui {

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
