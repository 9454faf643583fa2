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

/// The common base of all views of rows over time: a column of names on the left, a ruler at the top, the mouse wheel,
/// keys for zooming and panning, tooltips, and a frame while the view has the focus. GUI thread only.
class TimeView : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// The effect of the wheel over the rows without a modifier; Ctrl selects the other effect.
    enum class Wheel : std::uint8_t {
        Zooms,
        Scrolls, ///< scrolls the rows, as in Perfetto
    };
    void setWheel(Wheel wheel) { wheel_ = wheel; }

signals:
    /// The wheel was turned over the rows without a modifier.
    void wheelTurned();

protected:
    /// `names` is the width of the names, `ruler` the height of the ruler. `themes` must outlive the view.
    TimeView(ThemeManager& themes, int names, int ruler, QWidget* parent);
    /// The range that the view shows and changes; it must outlive the view.
    void setRange(VisibleRange& range);

    /// The rectangle in the viewport where the rows are drawn.
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] TimeScale scale() const;
    /// The size of a text in the labels' font.
    [[nodiscard]] QSizeF textSize(const QString& text) const;
    /// Marks the kept picture as changed, with a new version, so that it is painted again.
    void invalidate();
    /// As above, except for the names of rows, because only the range has changed.
    void invalidateTime();
    /// Zooms at the pointer, or at the middle.
    void zoom(double factor);
    /// By pixels, as the pointer moves.
    void drag(const QPointF& by);
    /// Runs a command that only zooms or pans; returns false for other commands.
    bool runInTime(Command command);
    /// After a pause, the next change of the range can be undone separately.
    void endGestureSoon() { gesture_end_.start(); }
    /// Call it last when painting.
    void paintFocus(QPainter& painter) const;

    [[nodiscard]] virtual QFont labelFont() const { return font(); }
    /// Called when the height of the view, or the rows, may have changed.
    virtual void relayout() = 0;
    /// Rich text; empty if there is no tooltip.
    [[nodiscard]] virtual QString toolTipAt(const QPointF& position) const = 0;
    virtual void pointerLeft() = 0;
    /// Makes rows higher (1) or lower (−1).
    virtual void changeRowHeight(int /*direction*/) {}

    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void changeEvent(QEvent* event) override;

    ThemeManager& themes_;
    std::uint64_t version_ = 1;       ///< version of the picture below the parts that follow the mouse
    std::uint64_t names_version_ = 1; ///< version of the names of rows in it

private:
    VisibleRange* range_ = nullptr;
    const int names_;
    const int ruler_;
    Wheel wheel_ = Wheel::Zooms;
    QTimer gesture_end_;
    mutable QHash<QString, QSizeF> text_sizes_;
};

} // namespace bubblescope::gui
