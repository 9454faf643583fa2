#pragma once

#include "app/gui/theme/theme.h"
#include "core/base/time.h"

#include <QRectF>
#include <QWidget>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// A histogram of durations, with a logarithmic scale if they differ by orders of magnitude. Dragging selects a range
/// of durations; a click selects all durations.
class Histogram : public QWidget {
    Q_OBJECT

public:
    static constexpr std::size_t kBins = 48;

    explicit Histogram(ThemeManager& themes, QWidget* parent = nullptr);

    void setDurations(std::vector<TimeNs> durations);
    [[nodiscard]] const std::vector<std::size_t>& bins() const { return bins_; }
    /// Start and end of a bin.
    [[nodiscard]] std::pair<TimeNs, TimeNs> bin(std::size_t at) const;
    [[nodiscard]] QRectF rectOf(std::size_t bin) const;
    [[nodiscard]] QSize sizeHint() const override { return {300, 90}; }

signals:
    /// Emitted when the user selects a range. Both limits are inclusive.
    void brushed(bubblescope::TimeNs shortest, bubblescope::TimeNs longest);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] std::size_t binAt(double x) const;
    [[nodiscard]] std::size_t binOf(TimeNs duration) const;
    [[nodiscard]] QRectF plot() const;

    ThemeManager& themes_;
    std::vector<std::size_t> bins_;
    TimeNs low_{0};
    TimeNs high_{0};
    bool ratios_ = false; ///< true if the scale is logarithmic
    std::optional<std::size_t> pressed_;
    std::optional<std::pair<std::size_t, std::size_t>> brush_;
};

} // namespace bubblescope::gui
