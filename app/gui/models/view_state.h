#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/item.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"
#include "core/request/model_use_request.h"

#include <QObject>
#include <QString>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace bubblescope::gui {

/// The visible part of the time axis, with its history. Zoom is stored only here. Stays within limits. Lives on the GUI
/// thread.
class VisibleRange : public QObject {
    Q_OBJECT

public:
    /// The shortest range; pixels shorter than a tenth of a nanosecond would show nothing new.
    static constexpr TimeNs kMinLength{100};

    explicit VisibleRange(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const TimeRange& range() const { return range_; }
    [[nodiscard]] const TimeRange& limits() const { return limits_; }
    [[nodiscard]] bool canGoBack() const { return !history_.empty(); }
    /// The stamp of the last entry in the history; 0 if it is empty. Other histories get their stamps from nextStamp()
    /// too, so that the latest change of all can be found.
    [[nodiscard]] std::uint64_t lastStamp() const { return history_.empty() ? 0 : history_.back().stamp; }
    [[nodiscard]] std::uint64_t nextStamp() { return ++stamp_; }

    /// For a new trace: shows the whole trace and clears the history.
    void setLimits(const TimeRange& limits);
    /// Shows `range` within the limits, without an entry in the history (used for the initial view).
    void reset(const TimeRange& range);
    /// For a trace that has grown: shows `range`. Undo stays within the new limits.
    void follow(const TimeRange& limits, const TimeRange& range);
    /// Shows `range`; back() returns to the previous one.
    void show(const TimeRange& range);
    void showAll() { show(limits_); }
    /// Scales the range by `factor` (below 1 zooms in). The time at `fraction` of the range stays in place unless a
    /// limit is reached.
    void zoomAt(double fraction, double factor);
    /// Moves by a fraction of the range's length; positive means later.
    void panBy(double fraction);
    /// Wheel and drag make many small moves; all moves until this call form one entry in the history.
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
    int step = -1; ///< the step whose replica has the row, as an index in Run::steps; −1 = the current step

    friend bool operator==(const Highlight&, const Highlight&) = default;
};

/// Lines drawn over the ops on request.
enum class FlowOverlay : std::uint8_t {
    Transfers,    ///< all transfers of the step
    CriticalPath, ///< the critical path of the step
    Microbatch,   ///< the selected op's micro-batch on all ranks
};
inline constexpr std::size_t kFlowOverlayCount = 3;

/// The view of a session, to be restored later in another tab or from a file.
struct ViewSnapshot {
    TimeRange range;
    int step = -1;
    ItemRef selection;
    std::vector<Highlight> highlights;
    ReferenceOverlayPtr reference;
    double reference_blend = 1;
    std::array<bool, kFlowOverlayCount> flows{};
    TimeRange measured;
    std::optional<RowChoice> rows = {}; ///< none: the session's initial rows
    std::vector<TrackId> measured_tracks = {};
    ModelUseRequest model = {};
};

/// The step that is shown first: the typical one, or the first or last recorded one.
enum class StepShownFirst { Typical, First, Last };

/// The state shared by all views: the session, the visible range, the current step and the selection. Views change it
/// and listen to it, and do not refer to each other. Lives on the GUI thread.
class ViewState : public QObject {
    Q_OBJECT

public:
    explicit ViewState(QObject* parent = nullptr);

    [[nodiscard]] const SessionPtr& session() const { return session_; }
    /// The session if it has steps; otherwise null.
    [[nodiscard]] const SessionPtr& pipeline() const;
    /// Applies to sessions that are set later.
    void setStepShownFirst(StepShownFirst which) { step_shown_first_ = which; }
    [[nodiscard]] VisibleRange& range() { return range_; }
    [[nodiscard]] const ItemRef& selection() const { return selection_; }
    /// Index in Run::steps; −1 without steps.
    [[nodiscard]] int step() const { return step_; }

    /// Shows the typical step, or the whole trace if it has no steps. Null clears the views.
    void setSession(SessionPtr session);
    /// For a later state of the same run: makes its newest step current. Keeps the selection if the run still contains
    /// it.
    void followSession(SessionPtr session, const TimeRange& visible);
    /// For the complete run, after a session with its first steps was shown: keeps the view. The selection stays if the
    /// complete run contains it.
    void completeSession(SessionPtr session);
    /// Saves the view. restore() expects the session of the snapshot, ignores parts that do not fit it, and clears the
    /// history. If the snapshot has no range, it shows the same range as setSession(); without a step, it shows the
    /// step at the range.
    [[nodiscard]] ViewSnapshot snapshot() const;
    void restore(SessionPtr session, const ViewSnapshot& snapshot);
    /// Makes `step` current and zooms to it.
    void showStep(int step);
    /// Selects an item and makes its step current. Does not move the view.
    void select(const ItemRef& item);
    /// Zooms so that the item fills a third of the view, with its neighbours visible.
    void zoomTo(const ItemRef& item);
    void zoomTo(const TimeRange& range);
    /// Marks intervals until the next call. An empty list clears the marks.
    void highlight(std::vector<Highlight> stretches);
    [[nodiscard]] const std::vector<Highlight>& highlights() const { return highlights_; }
    /// Another timeline to draw below the ops; null for none. Removed with the session.
    void setReference(ReferenceOverlayPtr reference);
    [[nodiscard]] const ReferenceOverlayPtr& reference() const { return reference_; }
    /// The blend between the observed step (0) and the reference (1), and the blended reference.
    void setReferenceBlend(double blend);
    [[nodiscard]] double referenceBlend() const { return reference_blend_; }
    [[nodiscard]] const ReferenceOverlayPtr& shownReference() const { return shown_reference_; }
    void showFlow(FlowOverlay flow, bool on);
    [[nodiscard]] bool shows(FlowOverlay flow) const { return flows_[static_cast<std::size_t>(flow)]; }
    /// Measures an interval, in all rows or only in some tracks; an empty interval ends measuring.
    void measure(const TimeRange& range, std::vector<TrackId> tracks = {});
    [[nodiscard]] const TimeRange& measured() const { return measured_; }
    /// Ascending; none: all rows.
    [[nodiscard]] const std::vector<TrackId>& measuredTracks() const { return measured_tracks_; }
    /// Slices to mark, ascending; all others are dimmed. An empty list marks nothing.
    void mark(std::vector<SliceId> slices);
    [[nodiscard]] const std::vector<SliceId>& marked() const { return marked_; }
    /// The names of the marked slices, by StringId; empty if there are none.
    [[nodiscard]] const std::vector<bool>& markedNames() const { return marked_names_; }
    [[nodiscard]] const RowChoice& rows() const { return rows_; }
    /// The part of rows() that is a preference shared by all sessions: which kinds of lanes are shown.
    [[nodiscard]] RowChoice rowPreferences() const;
    /// Can be undone.
    void setRows(RowChoice rows);
    /// The user's description of the model that the run trains. Errors: those of ModelUseRequest::use(); the earlier
    /// description then stays.
    [[nodiscard]] Status setModel(const ModelUseRequest& model);
    [[nodiscard]] const ModelUseRequest& model() const { return model_; }
    /// The run's model FLOPs utilisation; none if the model is unknown.
    [[nodiscard]] const std::optional<ModelUse>& modelUse() const { return model_use_; }
    /// Undoes the last zoom, move or change of rows.
    void undo();
    /// Redoes the change that was undone last, unless the view or the rows have changed since.
    void redo();
    [[nodiscard]] bool canUndo() const { return range_.canGoBack() || !past_rows_.empty(); }
    [[nodiscard]] bool canRedo() const { return !undone_.empty(); }
    /// Zooms to the interval from the start of step `first` to the end of step `last`.
    void showSteps(int first, int last);
    /// Moves the view as little as needed to show the item.
    void reveal(const ItemRef& item);
    /// Requests the diagnosis of a step, which a worker thread makes if it is not known yet; diagnosisMade() follows.
    /// The request is dropped when the session, the step or the selection changes, or at the next request. A selected
    /// bubble and a drawn critical path request the diagnosis themselves. One diagnosis is made at a time; when it is
    /// finished, the next one is chosen among those that are still needed.
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
    /// canUndo() or canRedo() may have changed.
    void historyChanged();
    /// A diagnosis of the current session was made or failed; if it failed, Session::knownDiagnosis() is null.
    void diagnosisMade(int step);
    /// Views that show ranks should scroll to this rank.
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
        std::uint64_t stamp = 0; ///< its position among the entries of the range's history
    };
    RowChoice rows_;
    ModelUseRequest model_;
    std::optional<ModelUse> model_use_;
    bool wants_counters_ = false; ///< used if there is a pipeline
    std::vector<PastRows> past_rows_;
    struct Undone {
        TimeRange range;
        RowChoice rows;
    };
    std::vector<Undone> undone_; ///< the views that redo() shows again, with the next one last
    bool undoing_ = false;
    int step_ = -1;
    BackgroundJob diagnosis_job_;
    std::optional<int> requested_diagnosis_; ///< the step requested by diagnose()
    std::set<int> awaited_diagnoses_;        ///< steps for which diagnosisMade() must still be emitted
};

} // namespace bubblescope::gui
