#pragma once

#include "app/gui/models/item.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"

#include <QObject>
#include <QString>

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope::gui {

/// The only owner of what part of the time axis is shown. Keeps within limits, remembers where it was.
/// Lives on the GUI thread.
class VisibleRange : public QObject {
    Q_OBJECT

public:
    /// Zooming in stops here: pixels finer than a tenth of a nanosecond show nothing new.
    static constexpr TimeNs kShortest{100};

    explicit VisibleRange(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const TimeRange& range() const { return range_; }
    [[nodiscard]] const TimeRange& limits() const { return limits_; }
    [[nodiscard]] bool canGoBack() const { return !history_.empty(); }
    /// When the last entry of the history was made, by the count that nextStamp() goes on with; 0 without one. Tells
    /// whoever keeps a history beside this one which change came last.
    [[nodiscard]] std::uint64_t lastStamp() const { return history_.empty() ? 0 : history_.back().stamp; }
    [[nodiscard]] std::uint64_t nextStamp() { return ++stamp_; }

    /// A new trace: shows all of it and forgets the past.
    void setLimits(const TimeRange& limits);
    /// Shows `range`, as far as the limits allow, without a trace in the history (the initial view).
    void reset(const TimeRange& range);
    /// A trace that grew: shows `range` of it. What is undone afterwards leads no farther than the new limits.
    void follow(const TimeRange& limits, const TimeRange& range);
    /// Jumps to `range`; back() returns.
    void show(const TimeRange& range);
    void showAll() { show(limits_); }
    /// Scales the range by `factor` (below 1 zooms in). The time at `fraction` of the range stays where it
    /// is unless a limit pushes it.
    void zoomAt(double fraction, double factor);
    /// Moves by a share of the range's length; positive goes to later times.
    void panBy(double share);
    /// Wheel and drag come in many small moves; all of them up to this call are one entry of the history.
    void endGesture() { in_gesture_ = false; }
    /// Previous zoom.
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

/// A stretch of a rank's row that a panel wants seen.
struct Highlight {
    int rank = 0;
    TimeRange range;

    friend bool operator==(const Highlight&, const Highlight&) = default;
};

/// Lines over the ops that are drawn on demand.
enum class FlowOverlay : std::uint8_t {
    Transfers,    ///< all of the step, from send to receive
    CriticalPath, ///< of the step
    Microbatch,   ///< the way of the selected op's micro-batch through all ranks
};
inline constexpr std::size_t kFlowOverlayCount = 3;

/// What a view shows of a session, to be put back later: on another tab, or from a file.
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
    RowChoice rows;
};

/// What all views share: the session, the visible range, the current step and the selection. Views change
/// it and listen to it; they do not know one another. Lives on the GUI thread.
class ViewState : public QObject {
    Q_OBJECT

public:
    explicit ViewState(QObject* parent = nullptr);

    [[nodiscard]] const SessionPtr& session() const { return session_; }
    [[nodiscard]] VisibleRange& range() { return range_; }
    [[nodiscard]] const ItemRef& selection() const { return selection_; }
    /// Place in Run::steps; −1 without a session.
    [[nodiscard]] int step() const { return step_; }

    /// Shows the second step of several (the first one warms up), or the only one. Null clears.
    void setSession(SessionPtr session);
    /// A later state of the run that is shown: its newest step becomes current. What is selected stays so while the run
    /// still has it.
    void followSession(SessionPtr session, const TimeRange& visible);
    /// What is shown now, and back. restore() wants the session that the snapshot was taken of, and leaves out what
    /// does not fit it; the history of what can be undone begins anew.
    [[nodiscard]] ViewSnapshot snapshot() const;
    void restore(SessionPtr session, const ViewSnapshot& snapshot);
    /// Makes `step` current and zooms to it.
    void showStep(int step);
    /// Also makes the item's step current. Does not move the view.
    void select(const ItemRef& item);
    /// Zooms so that the item fills a third of the view and its neighbours stay in sight.
    void zoomTo(const ItemRef& item);
    void zoomTo(const TimeRange& range);
    /// Marks stretches until the next call; `caption` says what they are. None clears.
    void highlight(std::vector<Highlight> stretches, const QString& caption);
    [[nodiscard]] const std::vector<Highlight>& highlights() const { return highlights_; }
    [[nodiscard]] const QString& highlightCaption() const { return highlight_caption_; }
    /// Another timeline to draw below the ops; null for none. Gone with the session.
    void setReference(ReferenceOverlayPtr reference);
    [[nodiscard]] const ReferenceOverlayPtr& reference() const { return reference_; }
    /// How far the reference has gone from the observed step (0) to its own times (1), and the reference there.
    void setReferenceBlend(double share);
    [[nodiscard]] double referenceBlend() const { return reference_blend_; }
    [[nodiscard]] const ReferenceOverlayPtr& shownReference() const { return shown_reference_; }
    void showFlow(FlowOverlay flow, bool on);
    [[nodiscard]] bool shows(FlowOverlay flow) const { return flows_[static_cast<std::size_t>(flow)]; }
    /// A stretch of time that is measured; an empty one ends it.
    void measure(const TimeRange& range);
    [[nodiscard]] const TimeRange& measured() const { return measured_; }
    [[nodiscard]] const RowChoice& rows() const { return rows_; }
    /// Can be undone.
    void setRows(RowChoice rows);
    /// Takes back the last zoom, move or change of rows.
    void undo();
    /// Zooms from the begin of one step to the end of another.
    void showSteps(int first, int last);
    /// Moves the view as little as needed to show the item.
    void reveal(const ItemRef& item);

signals:
    void sessionChanged();
    void stepChanged();
    void selectionChanged();
    void highlightsChanged();
    void referenceChanged();
    void referenceMoved();
    void flowsChanged();
    void measuredChanged();
    void rowsChanged();
    /// A view that shows ranks should bring this one into sight.
    void rankRequested(int rank);

private:
    void setStep(int step);
    void moveReference();
    [[nodiscard]] TimeRange limits() const;
    [[nodiscard]] ItemRef sameItem(const Session& later) const;
    void followRange();
    [[nodiscard]] TimeRange stepView(int step) const;
    [[nodiscard]] bool holds(const ItemRef& item) const;
    void resetRows();

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
    struct PastRows {
        RowChoice rows;
        std::uint64_t stamp = 0; ///< among the entries of the range's history
    };
    RowChoice rows_;
    std::vector<PastRows> past_rows_;
    int step_ = -1;
};

} // namespace bubblescope::gui
