#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/item.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"

#include <QObject>
#include <QString>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace bubblescope::gui {

/// The visible part of the time axis and its history; the only owner of zoom. Stays within limits. Lives on the GUI
/// thread.
class VisibleRange : public QObject {
    Q_OBJECT

public:
    /// The shortest range: pixels finer than a tenth of a nanosecond would show nothing new.
    static constexpr TimeNs kMinLength{100};

    explicit VisibleRange(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const TimeRange& range() const { return range_; }
    [[nodiscard]] const TimeRange& limits() const { return limits_; }
    [[nodiscard]] bool canGoBack() const { return !history_.empty(); }
    /// The stamp of the last entry of the history; 0 if it is empty. Other histories take theirs from nextStamp(), so
    /// that the latest change of all can be found.
    [[nodiscard]] std::uint64_t lastStamp() const { return history_.empty() ? 0 : history_.back().stamp; }
    [[nodiscard]] std::uint64_t nextStamp() { return ++stamp_; }

    /// For a new trace: shows all of it and clears the history.
    void setLimits(const TimeRange& limits);
    /// Shows `range` within the limits, without an entry in the history (the initial view).
    void reset(const TimeRange& range);
    /// For a trace that has grown: shows `range` of it. Undo stays within the new limits.
    void follow(const TimeRange& limits, const TimeRange& range);
    /// Shows `range`; back() returns.
    void show(const TimeRange& range);
    void showAll() { show(limits_); }
    /// Scales the range by `factor` (below 1 zooms in). The time at `fraction` of the range keeps its place unless a
    /// limit is reached.
    void zoomAt(double fraction, double factor);
    /// Moves by a fraction of the range's length; positive means later.
    void panBy(double fraction);
    /// Wheel and drag make many small moves; all moves up to this call form one entry of the history.
    void endGesture() { in_gesture_ = false; }
    /// Returns to the previous range.
    void back();

signals:
    void changed();
    void historyChanged();

private:
    [[nodiscard]] TimeRange clamped(TimeRange range) const;
    void remember();
    void apply(const TimeRange& range);

    TimeRange limits_;
    TimeRange range_;
    struct Entry {
        TimeRange range;
        std::uint64_t stamp = 0;
    };
    std::vector<Entry> history_;
    std::uint64_t stamp_ = 0;
    bool in_gesture_ = false;
};

/// An interval of a rank's row, marked by a panel.
struct Highlight {
    int rank = 0;
    TimeRange range;
    int step = -1; ///< the step whose replica has the row, index in Run::steps; −1 = the current step

    friend bool operator==(const Highlight&, const Highlight&) = default;
};

/// Lines over the ops, drawn on demand.
enum class FlowOverlay : std::uint8_t {
    Transfers,    ///< all transfers of the step
    CriticalPath, ///< the critical path of the step
    Microbatch,   ///< the selected op's micro-batch on all ranks
};
inline constexpr std::size_t kFlowOverlayCount = 3;

/// The view of a session, to be restored later: in another tab, or from a file.
struct ViewSnapshot {
    TimeRange range;
    int step = -1;
    ItemRef selection;
    std::vector<Highlight> highlights;
    QString highlight_caption;
    ReferenceOverlayPtr reference;
    double reference_blend = 1;
    std::array<bool, kFlowOverlayCount> flows{};
    TimeRange measured;
    std::optional<RowChoice> rows = {}; ///< none: those that the session begins with
    std::vector<TrackId> measured_tracks = {};
};

/// Which step is shown first: the typical one, or the first or last that is recorded.
enum class StepShownFirst { Typical, First, Last };

/// The state that all views share: the session, the visible range, the current step and the selection. Views change it
/// and listen to it; they do not know one another. Lives on the GUI thread.
class ViewState : public QObject {
    Q_OBJECT

public:
    explicit ViewState(QObject* parent = nullptr);

    [[nodiscard]] const SessionPtr& session() const { return session_; }
    /// The session if it has steps; else null.
    [[nodiscard]] const SessionPtr& pipeline() const;
    /// Of sessions that are set from now on.
    void setStepShownFirst(StepShownFirst which) { step_shown_first_ = which; }
    [[nodiscard]] VisibleRange& range() { return range_; }
    [[nodiscard]] const ItemRef& selection() const { return selection_; }
    /// Index in Run::steps; −1 without steps.
    [[nodiscard]] int step() const { return step_; }

    /// Shows the typical step, or all of a trace without steps. Null clears.
    void setSession(SessionPtr session);
    /// For a later state of the same run: makes its newest step current. Keeps the selection if the run still has it.
    void followSession(SessionPtr session, const TimeRange& visible);
    /// For the complete run, after a session with its first steps was shown: keeps the view. The selection stays if the
    /// complete run contains it.
    void completeSession(SessionPtr session);
    /// Saves the view, and restores it. restore() expects the session of the snapshot, ignores parts that do not fit
    /// it, and clears the history. Without a range in the snapshot it shows the same range as setSession(), and without
    /// a step the step at the range.
    [[nodiscard]] ViewSnapshot snapshot() const;
    void restore(SessionPtr session, const ViewSnapshot& snapshot);
    /// Makes `step` current and zooms to it.
    void showStep(int step);
    /// Also makes the item's step current. Does not move the view.
    void select(const ItemRef& item);
    /// Zooms so that the item fills a third of the view, with its neighbours visible.
    void zoomTo(const ItemRef& item);
    void zoomTo(const TimeRange& range);
    /// Marks intervals until the next call; `caption` describes them. An empty list clears.
    void highlight(std::vector<Highlight> stretches, const QString& caption);
    [[nodiscard]] const std::vector<Highlight>& highlights() const { return highlights_; }
    [[nodiscard]] const QString& highlightCaption() const { return highlight_caption_; }
    /// Another timeline to draw below the ops; null for none. Dropped with the session.
    void setReference(ReferenceOverlayPtr reference);
    [[nodiscard]] const ReferenceOverlayPtr& reference() const { return reference_; }
    /// The blend between the observed step (0) and the reference (1), and the blended reference.
    void setReferenceBlend(double blend);
    [[nodiscard]] double referenceBlend() const { return reference_blend_; }
    [[nodiscard]] const ReferenceOverlayPtr& shownReference() const { return shown_reference_; }
    void showFlow(FlowOverlay flow, bool on);
    [[nodiscard]] bool shows(FlowOverlay flow) const { return flows_[static_cast<std::size_t>(flow)]; }
    /// An interval to measure, of all rows or of some tracks alone; an empty one ends measuring.
    void measure(const TimeRange& range, std::vector<TrackId> tracks = {});
    [[nodiscard]] const TimeRange& measured() const { return measured_; }
    /// Ascending; none: all rows.
    [[nodiscard]] const std::vector<TrackId>& measuredTracks() const { return measured_tracks_; }
    /// Slices to mark, ascending; others are dimmed. An empty list marks nothing.
    void mark(std::vector<SliceId> slices);
    [[nodiscard]] const std::vector<SliceId>& marked() const { return marked_; }
    /// The names of the marked slices, by StringId; empty if there are none.
    [[nodiscard]] const std::vector<bool>& markedNames() const { return marked_names_; }
    [[nodiscard]] const RowChoice& rows() const { return rows_; }
    /// The part of rows() that is a preference shared by all sessions: the kinds of lanes that are shown.
    [[nodiscard]] RowChoice rowPreferences() const;
    /// Can be undone.
    void setRows(RowChoice rows);
    /// Undoes the last zoom, move or change of rows.
    void undo();
    /// Repeats what undo() took back last, unless the view or the rows have changed since.
    void redo();
    [[nodiscard]] bool canUndo() const { return range_.canGoBack() || !past_rows_.empty(); }
    [[nodiscard]] bool canRedo() const { return !undone_.empty(); }
    /// Zooms from the begin of step `first` to the end of step `last`.
    void showSteps(int first, int last);
    /// Moves the view as little as needed to show the item.
    void reveal(const ItemRef& item);
    /// Requests the diagnosis of a step, which a worker thread makes unless it is known; diagnosisMade() follows. The
    /// request stays until the session, the step or the selection changes, or until the next request. A selected bubble
    /// and a drawn critical path request the diagnosis without this call. One diagnosis is made at a time; when it
    /// ends, the next one is chosen among those that are still needed.
    void diagnose(int step);

signals:
    void sessionChanged();
    void stepChanged();
    void selectionChanged();
    void highlightsChanged();
    void referenceChanged();
    void referenceMoved();
    void flowsChanged();
    void measuredChanged();
    void marksChanged();
    void rowsChanged();
    /// canUndo() or canRedo() may have changed.
    void historyChanged();
    /// A diagnosis of the session that is shown was made, or could not be: Session::knownDiagnosis() is null then.
    void diagnosisMade(int step);
    /// Views that show ranks should scroll to this one.
    void rankRequested(int rank);

private:
    void showLater(SessionPtr session, int step, const TimeRange& visible, bool keeps_rows);
    void setStep(int step);
    void moveReference();
    [[nodiscard]] TimeRange limits() const;
    [[nodiscard]] ItemRef sameItem(const Session& later) const;
    void followRange();
    [[nodiscard]] TimeRange stepView(int step) const;
    [[nodiscard]] bool holds(const ItemRef& item) const;
    [[nodiscard]] int firstStep() const;
    void resetRows(bool had_steps);
    void forgetUndone();
    [[nodiscard]] std::vector<int> neededDiagnoses() const;
    void updateDiagnoses();
    void finishDiagnosis(int step);

    StepShownFirst step_shown_first_ = StepShownFirst::Typical;
    SessionPtr session_;
    VisibleRange range_;
    ItemRef selection_;
    std::vector<Highlight> highlights_;
    QString highlight_caption_;
    ReferenceOverlayPtr reference_;
    ReferenceOverlayPtr shown_reference_;
    double reference_blend_ = 1;
    std::array<bool, kFlowOverlayCount> flows_{};
    TimeRange measured_;
    std::vector<TrackId> measured_tracks_;
    std::vector<SliceId> marked_;
    std::vector<bool> marked_names_;
    struct PastRows {
        RowChoice rows;
        std::uint64_t stamp = 0; ///< orders it among the entries of the range's history
    };
    RowChoice rows_;
    bool wants_counters_ = false; ///< where there is a pipeline
    std::vector<PastRows> past_rows_;
    struct Undone {
        TimeRange range;
        RowChoice rows;
    };
    std::vector<Undone> undone_; ///< the views that redo() shows again, the next one last
    bool undoing_ = false;
    int step_ = -1;
    BackgroundJob diagnosis_job_;
    std::optional<int> requested_diagnosis_; ///< the step of diagnose()
    std::set<int> awaited_diagnoses_;        ///< steps for which diagnosisMade() is still to be emitted
};

} // namespace bubblescope::gui
