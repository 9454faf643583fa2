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

/// The common part of all views of rows against time: a column of names at the left, a ruler above, the wheel, keys
/// that zoom and move, tooltips, and a frame while it has the focus. GUI thread only.
class TimeView : public QAbstractScrollArea {
    Q_OBJECT

public:
    /// The effect of the wheel over the rows without a modifier; Ctrl selects the other effect.
    enum class Wheel : std::uint8_t {
        Zooms,
        Scrolls, ///< as in Perfetto: the rows
    };
    void setWheel(Wheel wheel) { wheel_ = wheel; }

signals:
    /// The wheel was turned over the rows without a modifier.
    void wheelTurned();

protected:
    /// `names` and `ruler` are the width of the names and the height of the ruler. `themes` must outlive the view.
    TimeView(ThemeManager& themes, int names, int ruler, QWidget* parent);
    /// The range to show and to change; must outlive the view.
    void setRange(VisibleRange& range);

    /// Where the rows are drawn, in the viewport.
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] TimeScale scale() const;
    /// The size of a text in the labels' font.
    [[nodiscard]] QSizeF textSize(const QString& text) const;
    /// Marks the kept picture as changed, by a new version, so that it is painted again.
    void invalidate();
    /// The same except for the names of rows: only the range has changed.
    void invalidateTime();
    /// Zooms at the pointer, or in the middle.
    void zoom(double factor);
    /// By pixels, as the pointer moves.
    void drag(const QPointF& by);
    /// Runs a command that zooms or moves in time alone; false for others.
    bool runInTime(Command command);
    /// After a pause, the next change of the range is a separate step for undoing.
    void endGestureSoon() { gesture_end_.start(); }
    /// To be drawn last.
    void paintFocus(QPainter& painter) const;

    [[nodiscard]] virtual QFont labelFont() const { return font(); }
    /// The height of the view, or the rows, may have changed.
    virtual void relayout() = 0;
    /// Rich text; empty for none.
    [[nodiscard]] virtual QString toolTipAt(const QPointF& position) const = 0;
    virtual void pointerLeft() = 0;
    /// Higher rows (1) or lower ones (−1).
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
