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

/// Difference between an op of the reference timeline and the same op of the observed timeline.
enum class OpChange : std::uint8_t { Same, Longer, Shorter, Moved, Added };
inline constexpr std::size_t kOpChangeCount = 5;

/// A symbol that supplements the colour, such as "▲" for longer ops. Empty for equal ops.
[[nodiscard]] QString opChangeSign(OpChange change);

/// The changes in all ops of a step.
class OpChanges {
public:
    /// An op counts as moved if a different op precedes it on its rank, and as longer or shorter if its duration
    /// differs by at least 10 %.
    OpChanges(const StepTimeline& observed, const StepTimeline& other);

    [[nodiscard]] OpChange of(int rank, const Op& op) const;
    [[nodiscard]] int count(OpChange change) const { return counts_[static_cast<std::size_t>(change)]; }

private:
    std::map<std::pair<int, Op>, OpChange> changed_; ///< all ops except unchanged ones
    std::array<int, kOpChangeCount> counts_{};
};

/// A step of the reference timeline.
struct ReferenceStep {
    int step = 0;                                       ///< index in Run::steps of the observed step
    StepTimeline timeline;                              ///< starts at the same time as the observed step
    std::shared_ptr<const OpChanges> changes = nullptr; ///< for colouring ops; null unless the reference is another run
};

/// A reference timeline that is drawn below the observed timeline, for one step and optionally for the steps around it.
struct ReferenceOverlay {
    QString name;        ///< such as "ideal"
    QString explanation; ///< one sentence
    int step = 0;        ///< index of the observed step, as in ReferenceStep
    StepTimeline timeline;
    std::shared_ptr<const OpChanges> changes = nullptr;
    std::vector<std::shared_ptr<const ReferenceStep>> around{}; ///< references for other steps

    /// Shifts the timeline so that it starts at `begin`.
    static ReferenceOverlay make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin);
    /// Interpolates between the observed steps (0) and the reference (1).
    [[nodiscard]] ReferenceOverlay partWay(const Session& session, double fraction) const;
};

using ReferenceOverlayPtr = std::shared_ptr<const ReferenceOverlay>;

/// When enabled, shows the ideal step as a reference for the current step: the planned order with typical op times and
/// without transfer times, simulated in the background. Lives on the GUI thread.
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
