#pragma once

#include "app/gui/theme/theme.h"
#include "core/cost/memory_model.h"

#include <QWidget>

#include <vector>

namespace bubblescope::gui {

/// The memory that each rank holds over a step, as one stepped line per rank; early ranks are darker.
class MemoryChart : public QWidget {
    Q_OBJECT

public:
    explicit MemoryChart(ThemeManager& themes, QWidget* parent = nullptr);

    /// `unit` is the number of bytes that counts as 1.
    void setCurves(std::vector<std::vector<MemoryPoint>> ranks, TimeNs end, double unit);
    [[nodiscard]] QSize sizeHint() const override { return {400, 140}; }
    /// A rank's stepped line in the widget; for tests.
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
