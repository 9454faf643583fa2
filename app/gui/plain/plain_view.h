#pragma once

#include "app/gui/plain/plain_geometry.h"
#include "app/gui/plain/plain_painter.h"
#include "app/gui/plain/plain_queries.h"
#include "app/gui/timeline/kept_picture.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/time_view.h"

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// The part of a plain trace that was shown, to come back to it.
struct PlainSnapshot {
    TimeRange range;
    PlainFolds folds;
    int scroll = 0;
    SliceId selection = kNoId;
    PlainArea area;
};

/// What a menu is asked for: a slice, or a row of the layout.
struct PlainTarget {
    SliceId slice = kNoId;
    int row = -1; ///< −1 if it is a slice
};

/// Draws a plain trace: processes, their threads, streams and counters. The wheel zooms, dragging moves, a click
/// selects a slice; dragging on the ruler, or with Shift on the lanes, selects an area. Lives on the GUI thread.
class PlainView : public TimeView {
    Q_OBJECT

public:
    static constexpr int kNameWidth = 220;
    static constexpr int kRuler = 24;

    explicit PlainView(ThemeManager& themes, QWidget* parent = nullptr);

    /// Null clears.
    void setTrace(PlainTracePtr trace, const PlainSnapshot& snapshot = {});
    [[nodiscard]] const PlainTracePtr& trace() const { return trace_; }
    [[nodiscard]] PlainSnapshot snapshot() const;
    [[nodiscard]] VisibleRange& range() { return range_; }

    void select(SliceId slice);
    [[nodiscard]] SliceId selection() const { return selection_; }
    void selectArea(const PlainArea& area);
    [[nodiscard]] const PlainArea& area() const { return area_; }
    /// Slices to mark, ascending; others are dimmed. An empty list marks nothing.
    void mark(std::vector<SliceId> slices);
    [[nodiscard]] const std::vector<SliceId>& marked() const { return marked_; }
    /// Draws the arrows of all flows in sight, not of the selected slice alone.
    void showFlows(bool on);
    /// Selects a slice, unfolds what hides it and moves it into sight; zooms in if it would be invisible.
    void goTo(SliceId slice);
    void zoomToSlice(SliceId slice);
    /// The slice where a flow of the selected slice ends, or the one where it begins; kNoId if there is none.
    [[nodiscard]] SliceId flowEnd(bool forward) const;
    [[nodiscard]] bool folded(int row) const;
    void turnFold(int row);
    /// The commands that make sense without a pipeline; others do nothing.
    void run(Command command);

    /// For tests: places in the viewport.
    [[nodiscard]] QPointF centreOf(SliceId slice) const;
    [[nodiscard]] const PlainLayout& layout() const { return layout_; }
    [[nodiscard]] PlainInput input() const;

signals:
    void selectionChanged();
    void areaChanged();
    void searchRequested();
    /// The menu of a slice, which is selected, or of a row. `where` is on the screen.
    void menuRequested(const bubblescope::gui::PlainTarget& target, const QPoint& where);
    /// A line about what is under the pointer; may be empty.
    void hovered(const QString& line);

protected:
    void paintEvent(QPaintEvent* event) override;
    [[nodiscard]] QFont labelFont() const override;
    void relayout() override;
    [[nodiscard]] QString toolTipAt(const QPointF& position) const override;
    void pointerLeft() override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    [[nodiscard]] int rowUnder(const QPointF& position) const;
    [[nodiscard]] SliceId sliceUnder(const QPointF& position) const;
    [[nodiscard]] QString textUnder(const QPointF& position) const;
    void setFolds(PlainFolds folds);
    [[nodiscard]] PlainFrame frame() const;
    void dragAreaTo(const QPointF& position);
    void stepAlong(int direction);

    PlainTracePtr trace_;
    VisibleRange range_;
    PlainFolds folds_;
    PlainLayout layout_;
    SliceId selection_ = kNoId;
    SliceId hover_ = kNoId;
    std::vector<PlainFlow> selected_flows_;
    PlainArea area_;
    std::vector<SliceId> marked_;
    std::vector<bool> marked_names_; ///< of marked_
    bool all_flows_ = false;
    KeptPicture base_;
    LabelCache labels_;

    enum class Drag : std::uint8_t { None, Pressed, Move, Area };
    Drag drag_ = Drag::None;
    bool wants_area_ = false;
    QPointF press_;
    QPointF last_;
};

} // namespace bubblescope::gui
