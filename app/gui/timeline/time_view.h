#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/commands.h"
#include "app/gui/timeline/time_axis.h"

#include <QAbstractScrollArea>
#include <QHash>
#include <QTimer>

#include <cstdint>

namespace bubblescope::gui {

/// Base class of all views with rows over time. Each view has a column of names on the left, a ruler at the top, mouse
/// wheel and key bindings for zooming and panning, tooltips, and a focus frame. GUI thread only.
class TimeView : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// Effect of the wheel over the rows without a modifier key. Ctrl selects the other effect.
    enum class Wheel : std::uint8_t {
        Zooms,
        Scrolls, ///< scrolls the rows, as in Perfetto
    };
    void setWheel(Wheel wheel) { wheel_ = wheel; }

signals:
    /// Emitted when the wheel is turned over the rows without a modifier key.
    void wheelTurned();

protected:
    /// `names` is the width of the column of names; `ruler` is the height of the ruler. `themes` must outlive the view.
    TimeView(ThemeManager& themes, int names, int ruler, QWidget* parent);
    /// Sets the range that the view shows and changes. The range must outlive the view.
    void setRange(VisibleRange& range);

    /// Rectangle in the viewport in which the rows are drawn.
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] TimeScale scale() const;
    /// Size of text in the font of the labels.
    [[nodiscard]] QSizeF textSize(const QString& text) const;
    /// Invalidates the cached image by assigning a new version, so that it is painted again.
    void invalidate();
    /// Like invalidate(), but keeps the cached names of rows. For changes of the time range only.
    void invalidateTime();
    /// Zooms around the pointer, or around the middle of the plot.
    void zoom(double factor);
    /// Pans by pixels, following the pointer.
    void drag(const QPointF& by);
    /// Runs a command that only zooms or pans; returns false for other commands.
    bool runInTime(Command command);
    /// Ends the gesture after a pause, so that the next change of the range can be undone separately.
    void endGestureSoon() { gesture_end_.start(); }
    /// Draws the focus frame. Must be called last when painting.
    void paintFocus(QPainter& painter) const;

    [[nodiscard]] virtual QFont labelFont() const { return font(); }
    /// Called when the height of the view or the rows may have changed.
    virtual void relayout() = 0;
    /// Rich text; empty if there is no tooltip.
    [[nodiscard]] virtual QString toolTipAt(const QPointF& position) const = 0;
    virtual void pointerLeft() = 0;
    /// Makes rows taller (1) or shorter (−1).
    virtual void changeRowHeight(int /*direction*/) {}

    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;

    ThemeManager& themes_;
    std::uint64_t version_ = 1;       ///< version of the cached image without the parts that depend on the mouse
    std::uint64_t names_version_ = 1; ///< version of the row names in the cached image

private:
    VisibleRange* range_ = nullptr;
    const int names_;
    const int ruler_;
    Wheel wheel_ = Wheel::Zooms;
    QTimer gesture_end_;
    mutable QHash<QString, QSizeF> text_sizes_;
};

} // namespace bubblescope::gui
