#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

namespace bubblescope::gui {

/// Overview of the complete run: busy time, anomalies, and a frame around the part that the timeline shows. The frame
/// can be dragged and resized; a click elsewhere moves the frame there.
class OverviewBar : public QWidget {
    Q_OBJECT

public:
    OverviewBar(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    /// Frame around the visible part.
    [[nodiscard]] QRectF frame() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;

private:
    enum class Grip : std::uint8_t { None, Move, Begin, End };
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] double x(TimeNs time) const;
    [[nodiscard]] TimeNs time(double x) const;
    [[nodiscard]] Grip gripAt(double x) const;
    void paintDensity(QPainter& painter) const;
    void paintAnomalies(QPainter& painter) const;

    ViewState& state_;
    ThemeManager& themes_;
    Grip grip_ = Grip::None;
    TimeNs grabbed_{0}; ///< distance from the start of the range to the point that was grabbed
    bool moved_ = false;
};

} // namespace bubblescope::gui
