#pragma once

#include "app/gui/models/ghost.h"
#include "app/gui/models/row_choice.h"
#include "app/gui/models/session.h"
#include "app/gui/models/visible_range.h"

#include <QObject>
#include <QString>

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope::gui {

/// A stretch of a rank's row that a panel wants seen.
struct Highlight {
    int rank = 0;
    TimeRange range;

    friend bool operator==(const Highlight&, const Highlight&) = default;
};

/// Lines over the ops that are drawn on demand.
enum class Trail : std::uint8_t {
    Transfers,    ///< all of the step, from send to receive
    CriticalPath, ///< of the step
    Microbatch,   ///< the way of the selected op's micro-batch through all ranks
};
inline constexpr std::size_t kTrailCount = 3;

/// What a view shows of a session, to be put back later: on another tab, or from a file.
struct ViewSnapshot {
    TimeRange range;
    int step = -1;
    ItemRef selection;
    std::vector<Highlight> highlights;
    QString highlight_caption;
    GhostPtr ghost;
    double ghost_share = 1;
    std::array<bool, kTrailCount> trails{};
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
    void setGhost(GhostPtr ghost);
    [[nodiscard]] const GhostPtr& ghost() const { return ghost_; }
    /// How far the ghost has gone from the observed step (0) to its own times (1), and the ghost there.
    void setGhostShare(double share);
    [[nodiscard]] double ghostShare() const { return ghost_share_; }
    [[nodiscard]] const GhostPtr& shownGhost() const { return shown_ghost_; }
    void showTrail(Trail trail, bool on);
    [[nodiscard]] bool shows(Trail trail) const { return trails_[static_cast<std::size_t>(trail)]; }
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
    void ghostChanged();
    void ghostMoved();
    void trailsChanged();
    void measuredChanged();
    void rowsChanged();
    /// A view that shows ranks should bring this one into sight.
    void rankRequested(int rank);

private:
    void setStep(int step);
    void moveGhost();
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
    GhostPtr ghost_;
    GhostPtr shown_ghost_;
    double ghost_share_ = 1;
    std::array<bool, kTrailCount> trails_{};
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
