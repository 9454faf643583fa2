#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/item.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"
#include "core/request/model_use_request.h"

#include <QObject>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace bubblescope::gui {

/// Visible part of the time axis, within limits, and its history. No other object stores the zoom. Lives on the GUI
/// thread.
class VisibleRange : public QObject {
    Q_OBJECT

public:
    /// Minimum length of the range. With less than 0.1 ns per pixel, no more detail would be visible.
    static constexpr TimeNs kMinLength{100};

    explicit VisibleRange(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const TimeRange& range() const { return range_; }
    [[nodiscard]] const TimeRange& limits() const { return limits_; }
    [[nodiscard]] bool canGoBack() const { return !history_.empty(); }
    /// Stamp of the last entry in the history; 0 if the history is empty. Stamps of all histories come from
    /// nextStamp(), so that the most recent change can be determined.
    [[nodiscard]] std::uint64_t lastStamp() const { return history_.empty() ? 0 : history_.back().stamp; }
    [[nodiscard]] std::uint64_t nextStamp() { return ++stamp_; }

    /// For a new trace: shows the complete trace and clears the history.
    void setLimits(const TimeRange& limits);
    /// Shows `range` within the limits without adding an entry to the history; for the initial view.
    void reset(const TimeRange& range);
    /// For a trace that has grown: changes the limits, including those used by undo, and shows `range`.
    void follow(const TimeRange& limits, const TimeRange& range);
    /// Shows `range`; back() returns to the previous range.
    void show(const TimeRange& range);
    void showAll() { show(limits_); }
    /// Scales the length of the range by `factor`; values below 1 zoom in. The time at `fraction` of the range stays in
    /// place unless a limit is reached.
    void zoomAt(double fraction, double factor);
    /// Moves by a fraction of the range; positive values move to later times.
    void panBy(double fraction);
    /// Ends a gesture, such as dragging. All moves of a gesture form one entry in the history.
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

/// An interval in the row of a rank, highlighted by a panel.
struct Highlight {
    int rank = 0;
    TimeRange range;
    int step = -1; ///< index in Run::steps of a step in the replica of the row; −1 = current step

    friend bool operator==(const Highlight&, const Highlight&) = default;
};

/// Lines that are drawn over the ops if enabled.
enum class FlowOverlay : std::uint8_t {
    Transfers,    ///< all transfers of the step
    CriticalPath, ///< the critical path of the step
    Microbatch,   ///< the selected op's micro-batch on all ranks
};
inline constexpr std::size_t kFlowOverlayCount = 3;

/// The view of a session, which can be restored in another tab or from a file.
struct ViewSnapshot {
    TimeRange range;
    int step = -1;
    ItemRef selection;
    std::vector<Highlight> highlights;
    ReferenceOverlayPtr reference;
    double reference_blend = 1;
    std::array<bool, kFlowOverlayCount> flows{};
    TimeRange measured;
    std::optional<RowChoice> rows = {}; ///< if empty, restore() selects the initial rows
    std::vector<TrackId> measured_tracks = {};
    ModelUseRequest model = {};
};

/// Determines which step is shown first: the typical step, or the first or last recorded step.
enum class StepShownFirst { Typical, First, Last };

/// State that all views share: session, visible range, current step and selection. Views change the state and observe
/// its signals; they do not depend on each other. Lives on the GUI thread.
class ViewState : public QObject {
    Q_OBJECT

public:
    explicit ViewState(QObject* parent = nullptr);

    [[nodiscard]] const SessionPtr& session() const { return session_; }
    /// Returns the session if it has steps, otherwise null.
    [[nodiscard]] const SessionPtr& pipeline() const;
    /// Affects only sessions that are set later.
    void setStepShownFirst(StepShownFirst which) { step_shown_first_ = which; }
    [[nodiscard]] VisibleRange& range() { return range_; }
    [[nodiscard]] const ItemRef& selection() const { return selection_; }
    /// Index in Run::steps; −1 if that list is empty.
    [[nodiscard]] int step() const { return step_; }

    /// Shows the typical step, or the complete trace if it has no steps. Null clears the views.
    void setSession(SessionPtr session);
    /// Replaces the session with a later state of the same run and selects the newest step. Keeps the selected item if
    /// the run still contains it.
    void followSession(SessionPtr session, const TimeRange& visible);
    /// Replaces a preview with the complete run. Keeps the view, and the selection if the complete run contains
    /// it.
    void completeSession(SessionPtr session);
    /// Saves the view. restore() requires the session of the snapshot, ignores invalid parts, and clears the history.
    /// If the snapshot has no range, restore() shows the same range as setSession(). If the snapshot has no step,
    /// restore() selects the step in that range.
    [[nodiscard]] ViewSnapshot snapshot() const;
    void restore(SessionPtr session, const ViewSnapshot& snapshot);
    /// Makes `step` the current step and zooms to it.
    void showStep(int step);
    /// Selects an item and its step without moving the view.
    void select(const ItemRef& item);
    /// Zooms until the item fills a third of the view.
    void zoomTo(const ItemRef& item);
    void zoomTo(const TimeRange& range);
    /// Highlights intervals until the next call. An empty list clears the highlights.
    void highlight(std::vector<Highlight> stretches);
    [[nodiscard]] const std::vector<Highlight>& highlights() const { return highlights_; }
    /// Sets the timeline that is drawn below the ops; null removes it. Removed with the session.
    void setReference(ReferenceOverlayPtr reference);
    [[nodiscard]] const ReferenceOverlayPtr& reference() const { return reference_; }
    /// Shows a blend of the observed step (0) and the reference (1).
    void setReferenceBlend(double blend);
    [[nodiscard]] double referenceBlend() const { return reference_blend_; }
    [[nodiscard]] const ReferenceOverlayPtr& shownReference() const { return shown_reference_; }
    void showFlow(FlowOverlay flow, bool on);
    [[nodiscard]] bool shows(FlowOverlay flow) const { return flows_[static_cast<std::size_t>(flow)]; }
    /// Measures an interval in all rows, or only in `tracks`. An empty interval ends the measurement.
    void measure(const TimeRange& range, std::vector<TrackId> tracks = {});
    [[nodiscard]] const TimeRange& measured() const { return measured_; }
    /// Ascending; empty for all rows.
    [[nodiscard]] const std::vector<TrackId>& measuredTracks() const { return measured_tracks_; }
    /// Marks slices, which must be ascending, and dims all others. An empty list removes the marks.
    void mark(std::vector<SliceId> slices);
    [[nodiscard]] const std::vector<SliceId>& marked() const { return marked_; }
    /// Names of the marked slices, as flags indexed by StringId. Empty if no slice is marked.
    [[nodiscard]] const std::vector<bool>& markedNames() const { return marked_names_; }
    [[nodiscard]] const RowChoice& rows() const { return rows_; }
    /// The visible kinds of lanes, which all sessions share; the other parts of rows() are not included.
    [[nodiscard]] RowChoice rowPreferences() const;
    /// Changes the rows. Can be undone.
    void setRows(RowChoice rows);
    /// Sets the description of the model that the run trains. Errors: those of ModelUseRequest::use(), in which case
    /// the previous description remains.
    [[nodiscard]] Status setModel(const ModelUseRequest& model);
    [[nodiscard]] const ModelUseRequest& model() const { return model_; }
    /// Model FLOPs utilisation of the run; none if the model is unknown.
    [[nodiscard]] const std::optional<ModelUse>& modelUse() const { return model_use_; }
    /// Undoes the last zoom, move, or change to the rows.
    void undo();
    /// Redoes the last undone change, unless the view or the rows have changed since then.
    void redo();
    [[nodiscard]] bool canUndo() const { return range_.canGoBack() || !past_rows_.empty(); }
    [[nodiscard]] bool canRedo() const { return !undone_.empty(); }
    /// Zooms to the range from the start of step `first` to the end of step `last`.
    void showSteps(int first, int last);
    /// Moves the view by the smallest distance that makes the item visible.
    void reveal(const ItemRef& item);
    /// Requests the diagnosis of a step, which a worker thread computes if necessary; emits diagnosisMade() afterwards.
    /// The request is cancelled by the next request, or when the session, the step or the selection changes. Selecting
    /// a bubble and drawing the critical path request the diagnosis automatically. Diagnoses are computed one at a
    /// time, and only while they are needed.
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
    void modelChanged();
    /// Emitted when canUndo() or canRedo() may have changed.
    void historyChanged();
    /// Emitted when a diagnosis has been computed or has failed. After a failure, Session::knownDiagnosis() is null.
    void diagnosisMade(int step);
    /// Requests that views scroll to this rank.
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
        std::uint64_t stamp = 0; ///< stamp of the change; see VisibleRange::lastStamp()
    };
    RowChoice rows_;
    ModelUseRequest model_;
    std::optional<ModelUse> model_use_;
    bool wants_counters_ = false; ///< used only if there is a pipeline
    std::vector<PastRows> past_rows_;
    struct Undone {
        TimeRange range;
        RowChoice rows;
    };
    std::vector<Undone> undone_; ///< views for redo(), the next one last
    bool undoing_ = false;
    int step_ = -1;
    BackgroundJob diagnosis_job_;
    std::optional<int> requested_diagnosis_; ///< step passed to the last diagnose()
    std::set<int> awaited_diagnoses_;        ///< steps for which diagnosisMade() has not been emitted yet
};

} // namespace bubblescope::gui
