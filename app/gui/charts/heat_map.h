#pragma once

#include "app/gui/theme/theme.h"

#include <QString>
#include <QWidget>

#include <vector>

class QPainter;

namespace bubblescope::gui {

/// A table of cells, each with text and a colour that shows a value between 0 and 1.
class HeatMap : public QWidget {
    Q_OBJECT

public:
    explicit HeatMap(ThemeManager& themes, QWidget* parent = nullptr);

    struct Cell {
        enum class State : std::uint8_t { Empty, Bad, Value, Slow };
        State state = State::Empty;
        double value = 0; ///< from 0 (best) to 1 (worst); in state Slow, 1 is drawn in the colour for bad values
        QString text;
        QString explanation;
    };
    /// `cells` are in row-major order.
    void setCells(QStringList rows, QStringList columns, std::vector<Cell> cells);
    /// Labels in the legend for State::Slow: the best and the worst value. If `best` is empty, the legend is hidden.
    void setScale(QString best, QString worst);
    /// Title of the column axis, shown above the row names.
    void setColumnAxis(QString name);
    [[nodiscard]] QRectF cellRect(int row, int column) const;
    [[nodiscard]] QSize sizeHint() const override;

signals:
    void clicked(int row, int column);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] int rowNameWidth() const;
    [[nodiscard]] int indexAt(const QPointF& position) const; ///< −1 outside all cells
    [[nodiscard]] QColor colour(const Cell& cell) const;
    [[nodiscard]] int scaleHeight() const;
    void paintScale(QPainter& painter) const;

    ThemeManager& themes_;
    QStringList rows_;
    QStringList columns_;
    std::vector<Cell> cells_;
    QString best_;
    QString worst_;
    QString column_axis_;
};

} // namespace bubblescope::gui
