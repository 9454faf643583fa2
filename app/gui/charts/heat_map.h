#pragma once

#include "app/gui/theme/theme.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace bubblescope::gui {

/// A table of cells, each coloured by a value between 0 and 1 and with a text.
class HeatMap : public QWidget {
    Q_OBJECT

public:
    explicit HeatMap(ThemeManager& themes, QWidget* parent = nullptr);

    struct Cell {
        enum class State : std::uint8_t { Empty, Bad, Value };
        State state = State::Empty;
        double value = 0; ///< 0 (best) to 1
        QString text;
        QString explanation;
    };
    /// `cells` are row by row.
    void setCells(QStringList rows, QStringList columns, std::vector<Cell> cells);
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
    [[nodiscard]] int indexAt(const QPointF& position) const; ///< −1 outside
    [[nodiscard]] QColor colour(const Cell& cell) const;

    ThemeManager& themes_;
    QStringList rows_;
    QStringList columns_;
    std::vector<Cell> cells_;
};

} // namespace bubblescope::gui
