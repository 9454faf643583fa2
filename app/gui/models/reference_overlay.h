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

/// How an op of another timeline differs from the same op of the observed one.
enum class OpChange : std::uint8_t { Same, Longer, Shorter, Moved, Added };
inline constexpr std::size_t kOpChangeCount = 5;

/// "▲" for longer: a sign besides the colour. Empty for equal ops.
[[nodiscard]] QString opChangeSign(OpChange change);

/// The changes of all ops of a step.
class OpChanges {
public:
    /// An op is moved if another one precedes it on its rank, and longer or shorter from a tenth of its time on.
    OpChanges(const StepTimeline& observed, const StepTimeline& other);

    [[nodiscard]] OpChange of(int rank, const Op& op) const;
    [[nodiscard]] int count(OpChange change) const { return counts_[static_cast<std::size_t>(change)]; }

private:
    std::map<std::pair<int, Op>, OpChange> changed_; ///< all but Same
    std::array<int, kOpChangeCount> counts_{};
};

/// The other timeline of one step.
struct ReferenceStep {
    int step = 0;                                       ///< the observed one, as an index in Run::steps
    StepTimeline timeline;                              ///< begins where the observed one does
    std::shared_ptr<const OpChanges> changes = nullptr; ///< colours the ops; null unless the timeline shows another run
};

/// Another timeline, drawn below the observed one: of one step, and of those around it where they are known, too.
struct ReferenceOverlay {
    QString name;        ///< "ideal"
    QString explanation; ///< a sentence
    int step = 0;        ///< as in ReferenceStep, of the step in question
    StepTimeline timeline;
    std::shared_ptr<const OpChanges> changes = nullptr;
    std::vector<std::shared_ptr<const ReferenceStep>> around{}; ///< other steps, each aligned with its observed one

    /// Moves the timeline so that it begins at `begin`.
    static ReferenceOverlay make(QString name, QString explanation, int step, StepTimeline timeline, TimeNs begin);
    /// Between the observed steps (0) and the reference itself (1).
    [[nodiscard]] ReferenceOverlay partWay(const Session& session, double fraction) const;
};

using ReferenceOverlayPtr = std::shared_ptr<const ReferenceOverlay>;

/// While on, shows the ideal of the current step as the view's reference: the planned order at the step's typical op
/// times with free transfers, simulated in the background. Lives on the GUI thread.
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
