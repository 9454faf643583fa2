#pragma once

#include "app/gui/jobs/background_job.h"
#include "core/timeline/step_timeline.h"

#include <QString>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::gui {

struct Session;
class ViewState;

/// The difference between an op of another timeline and the same op of the observed one.
enum class OpChange : std::uint8_t { Same, Longer, Shorter, Moved, Added };
inline constexpr std::size_t kOpChangeCount = 5;

/// A sign in addition to the colour, such as "▲" for longer ops. Empty for equal ops.
[[nodiscard]] QString opChangeSign(OpChange change);

/// The changes of all ops of a step.
class OpChanges {
public:
    /// An op counts as moved if a different op precedes it on its rank, and as longer or shorter if its time differs by
    /// a tenth or more.
    OpChanges(const StepTimeline& observed, const StepTimeline& other);

    [[nodiscard]] OpChange of(int rank, const Op& op) const;
    [[nodiscard]] int count(OpChange change) const { return counts_[static_cast<std::size_t>(change)]; }

private:
    std::map<std::pair<int, Op>, OpChange> changed_; ///< all ops except those that are the same
    std::array<int, kOpChangeCount> counts_{};
};

/// One step of the other timeline.
struct ReferenceStep {
    int step = 0;                                       ///< the observed step, as an index in Run::steps
    StepTimeline timeline;                              ///< begins at the same time as the observed step
    std::shared_ptr<const OpChanges> changes = nullptr; ///< determines the ops' colours; null except for another run
};

/// Another timeline drawn below the observed one, for one step and, if known, also for the steps around it.
struct ReferenceOverlay {
    QString name;        ///< "ideal"
    QString explanation; ///< a sentence
    int step = 0;        ///< the step of the overlay, as in ReferenceStep
    StepTimeline timeline;
    std::shared_ptr<const OpChanges> changes = nullptr;
    std::vector<std::shared_ptr<const ReferenceStep>> around{}; ///< other steps, each aligned with its observed step

    /// Moves the timeline so that it begins at `begin`.
    static ReferenceOverlay make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin);
    /// A blend between the observed steps (0) and the reference itself (1).
    [[nodiscard]] ReferenceOverlay partWay(const Session& session, double fraction) const;
};

using ReferenceOverlayPtr = std::shared_ptr<const ReferenceOverlay>;

/// While on, shows the ideal of the current step as the view's reference: the planned order with the step's typical op
/// times and free transfers, simulated in the background. Lives on the GUI thread.
class IdealOverlay : public QObject {
    Q_OBJECT

public:
    explicit IdealOverlay(ViewState& state, QObject* parent = nullptr);

    void setOn(bool on);
    [[nodiscard]] bool on() const { return on_; }

signals:
    void toggled(bool on);

private:
    void refresh();

    ViewState& state_;
    BackgroundJob job_;
    bool on_ = false;
};

} // namespace bubblescope::gui
