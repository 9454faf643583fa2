#pragma once

#include "app/gui/theme/theme.h"
#include "core/cost/memory_model.h"

#include <QWidget>

#include <vector>

namespace bubblescope::gui {

/// Memory use of the ranks over a step, one stepped line per rank. Lower ranks have darker lines.
class MemoryChart : public QWidget {
    Q_OBJECT

public:
    explicit MemoryChart(ThemeManager& themes, QWidget* parent = nullptr);

    /// `unit` is the number of bytes per unit of the vertical axis.
    void setCurves(std::vector<std::vector<MemoryPoint>> ranks, TimeNs end, double unit);
    [[nodiscard]] QSize sizeHint() const override { return {400, 140}; }
    /// Stepped line of a rank in widget coordinates; for tests.
    [[nodiscard]] QPolygonF stairs(std::size_t rank) const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] double maximum() const;

    ThemeManager& themes_;
    std::vector<std::vector<MemoryPoint>> ranks_;
    TimeNs end_{0};
    double unit_ = 1;
};

} // namespace bubblescope::gui
