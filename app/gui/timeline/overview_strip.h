#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

namespace bubblescope::gui {

/// The whole run in one strip: how busy it is, where its anomalies are, and what part of it the timeline shows. That
/// part can be dragged; its edges change its length; a click elsewhere moves it there.
class OverviewStrip : public QWidget {
    Q_OBJECT

public:
    OverviewStrip(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    /// The frame around the part that the timeline shows.
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
    TimeNs grabbed_{0}; ///< from the range's begin to where it was taken
    bool moved_ = false;
};

} // namespace bubblescope::gui
