#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/flow_overlay.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/kept_picture.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/time_view.h"

#include <QPointF>

#include <optional>
#include <vector>

class QImage;

class QMenu;

namespace bubblescope::gui {

class NoteStore;
struct TimelineFrame;

/// Gantt chart of a run. The size of the widget is independent of the length of the trace. Reads and changes
/// ViewState. The base image is cached until its content changes, so that hovering and selecting redraw only the
/// overlay.
class TimelineView : public TimeView {
    Q_OBJECT

public:
    /// `state` and `themes` must outlive the view.
    TimelineView(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

    /// Sets the notes to draw and edit, which must outlive the view. By default, there are no notes.
    void setNoteStore(NoteStore* note_store);

    void run(Command command);
    /// Item at a point in the viewport.
    [[nodiscard]] ItemRef itemAt(const QPointF& position) const;
    /// True if the raw lanes of a line are shown.
    [[nodiscard]] bool unfolded(int line) const { return state_.rows().unfolds(line); }
    void setUnfolded(int line, bool unfolded);
    /// Shows counters on each line as soon as they have been computed. Compact rows do not have counters.
    void showCounters(bool on);
    /// If enabled, dragging over the ops selects a time range instead of panning the view.
    void setSelecting(bool on);
    [[nodiscard]] bool selecting() const { return selecting_; }
    [[nodiscard]] bool showsCounters() const { return state_.rows().counters; }
    /// Height of the op band in logical pixels; 0 = automatic. Low values make rows compact.
    void setRowHeight(int height);
    [[nodiscard]] const RowLayout& rows() const { return rows_; }
    /// Height at which the view shows all rows and the ruler.
    [[nodiscard]] int heightOfAll() const;
    [[nodiscard]] ViewState& state() const { return state_; }
    /// The visible rows from top to bottom.
    [[nodiscard]] std::vector<int> rowsInSight() const;
    /// Visible part of a row including its name, in viewport coordinates.
    [[nodiscard]] QRect rowRect(int row) const;
    /// Draws the visible part without hover effects, for image files.
    void draw(QPainter& painter);
    /// Centre of an item's visible part in viewport coordinates; for tests and tooltips.
    [[nodiscard]] QPointF centreOf(const ItemRef& item) const;

signals:
    void hovered(const bubblescope::gui::ItemRef& item);
    void idealRequested();
    void searchRequested();
    /// Requests the next (+1) or the previous (−1) search result.
    void hitRequested(int direction);
    /// Emitted when the user requests a menu for the item at a point on the screen.
    void menuRequested(const bubblescope::gui::ItemRef& item, const QPoint& where);
    /// Emitted when the user has selected a time range by dragging. The range is now ViewState::measured().
    void timeRangeChosen();
    void selectingChanged(bool on);
    void filterRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void relayout() override;
    [[nodiscard]] QString toolTipAt(const QPointF& position) const override;
    void pointerLeft() override { setHover({}); }
    void changeRowHeight(int direction) override { setRowHeight(rows_.otherHeight(direction)); }
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    [[nodiscard]] GeometryInput geometry() const;
    [[nodiscard]] GeometryInput geometryAt(double plot_y) const;
    /// Visible part of an item in viewport coordinates.
    [[nodiscard]] QRectF rectOf(const ItemRef& item) const;
    [[nodiscard]] QRect outlineOf(const ItemRef& item) const;
    [[nodiscard]] int contentY(const QPointF& position) const;
    [[nodiscard]] int baseCaptions() const;
    [[nodiscard]] int captionRoom() const;
    /// Parts that are drawn separately: pinned rows and scrolled rows.
    enum class Part : std::uint8_t { Scrolled, Pinned };
    [[nodiscard]] bool pinsCover() const;
    [[nodiscard]] TimelineFrame frameOf(Part part, const GeometryInput& input) const;
    [[nodiscard]] GeometryInput geometryOf(Part part) const;
    /// Parts of the image that are cached between frames.
    struct Kept {
        KeptPicture picture;
        KeptNames names;

        Kept();
    };
    void showBase(QPainter& painter, Part part, bool whole, Kept& kept);
    void drawBase(QPainter& painter, Part part, QImage* image, bool names = true);
    void drawOverlay(QPainter& painter, Part part, const ItemRef& hover);
    StepFlows& flows();
    void toggle(FlowOverlay flow) { state_.showFlow(flow, !state_.shows(flow)); }
    [[nodiscard]] bool onRuler(const QPointF& position) const;
    void measureTo(const QPointF& position);
    [[nodiscard]] TimeNs snappedTime(const QPointF& position) const;
    void setHover(const ItemRef& item);
    void moveReference(double by);
    void focusSelection();
    void moveTo(const ItemRef& item);
    void changeRank(int direction);
    void showRank(int rank);
    void showLine(int line);
    void showSlice(const ItemRef& item);
    void scrollTo(int top, int bottom);
    [[nodiscard]] int focusedLine() const;
    void pin(int line);
    void moveRow(int line, int direction);
    void foldGroup(int group);
    void foldFocusedGroup();
    void showAllRows();
    void showRows();
    [[nodiscard]] int noteUnder(const QPointF& position) const;
    [[nodiscard]] QString sharesAt(const QPointF& position, const ItemRef& item) const;
    void turnStep(int direction);
    bool selectStepAt(const QPointF& position);
    bool foldAt(const QPointF& position);
    [[nodiscard]] const RawLane* stackAt(const QPointF& position) const;
    [[nodiscard]] const RawLane& laneOf(const RowLayout::RawPlace& place) const;
    [[nodiscard]] QString instantAt(const QPointF& position) const;
    [[nodiscard]] std::vector<TrackId> tracksBetween(const QPointF& position) const;
    void setFlat(TrackId track, bool flat);
    void pinTrack(TrackId track, bool on);
    void addTrackEntries(QMenu& menu, const RawLane& lane);
    void unfold(bool all);
    [[nodiscard]] RowExtras extras() const;

    ViewState& state_;
    NoteStore* note_store_ = nullptr;
    RowLayout rows_;
    std::vector<RowFacts> facts_;
    std::shared_ptr<const CounterLanes> all_counters_; ///< null until computed
    std::shared_ptr<const CounterLanes> counters_;     ///< counters that the row filter accepts
    BackgroundJob counter_job_;
    Kept base_;
    Kept pinned_;                    ///< like `base_`, for pinned rows above scrolled rows
    bool measures_ = false;          ///< true if a time range was measured at the last layout
    std::optional<StepFlows> flows_; ///< flows of the last requested step
    ColumnCache columns_;
    std::uint64_t drawn_version_ = 0;
    LabelCache labels_;
    LabelCache small_labels_;

    ItemRef hover_;
    QPointF press_position_;
    QPointF drag_position_;
    bool pressed_ = false;
    bool dragging_ = false;
    bool selecting_ = false;
    std::optional<TimeNs> measure_from_; ///< start of an interval being measured
};

/// Provides accessibility for timelines: the visible rows, each with the busy and bubble time of its rank in the
/// current step, and the selection as the value of the timeline. Each view must call this before its name is set.
void installTimelineAccess(TimelineView& view);

/// Notifies assistive technology that the rows have changed.
void announceRows(TimelineView& view);

/// Notifies assistive technology that the selection has changed.
void announceSelection(TimelineView& view);

} // namespace bubblescope::gui
