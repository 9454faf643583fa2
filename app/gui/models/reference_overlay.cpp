#include "app/gui/models/reference_overlay.h"

#include "app/gui/models/view_state.h"
#include "core/analysis/accounting/accounting.h"
#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "core/timeline/step_timeline.h"

#include <chrono>
#include <optional>

namespace bubblescope::gui {

QString opChangeSign(OpChange change) {
    switch (change) {
    case OpChange::Longer: return QStringLiteral("▲");
    case OpChange::Shorter: return QStringLiteral("▼");
    case OpChange::Moved: return QStringLiteral("◆");
    case OpChange::Added: return QStringLiteral("+");
    case OpChange::Same: break;
    }
    return {};
}

OpChanges::OpChanges(const StepTimeline& observed, const StepTimeline& other) {
    constexpr int kTenth = 10;
    struct Known {
        TimeNs time;
        std::optional<Op> after;
    };
    for (std::size_t rank = 0; rank < other.ranks.size(); ++rank) {
        std::map<Op, Known> known;
        std::optional<Op> last;
        for (const TimelineOp& op : rank < observed.ranks.size() ? observed.ranks[rank] : std::vector<TimelineOp>()) {
            known.emplace(op.op, Known{op.duration(), last});
            last = op.op;
        }
        last.reset();
        for (const TimelineOp& op : other.ranks[rank]) {
            const auto same = known.find(op.op);
            OpChange change = OpChange::Same;
            if (same == known.end()) {
                change = OpChange::Added;
            } else if (same->second.after != last) {
                change = OpChange::Moved;
            } else if (const TimeNs by = op.duration() - same->second.time;
                       std::chrono::abs(by) * kTenth >= same->second.time && by != TimeNs{0}) {
                change = by > TimeNs{0} ? OpChange::Longer : OpChange::Shorter;
            }
            last = op.op;
            ++counts_[static_cast<std::size_t>(change)];
            if (change != OpChange::Same) changed_.emplace(std::pair(static_cast<int>(rank), op.op), change);
        }
    }
}

OpChange OpChanges::of(int rank, const Op& op) const {
    const auto found = changed_.find({rank, op});
    return found == changed_.end() ? OpChange::Same : found->second;
}

ReferenceOverlay ReferenceOverlay::make(QString name, QString explanation, int step, StepTimeline timeline,
                                        TimeNs begin) {
    timeline.comm.clear(); // not drawn
    moveTo(timeline, begin);
    return {std::move(name), std::move(explanation), step, std::move(timeline)};
}

ReferenceOverlay ReferenceOverlay::partWay(const Session& session, double fraction) const {
    const auto between = [&](int of, const StepTimeline& other) {
        StepTimeline out = blend(session.step(of), other, fraction);
        out.comm.clear();
        return out;
    };
    ReferenceOverlay out{name, explanation, step, between(step, timeline), changes};
    for (const auto& one : around)
        out.around.push_back(std::make_shared<const ReferenceStep>(
            ReferenceStep{one->step, between(one->step, one->timeline), one->changes}));
    return out;
}

IdealOverlay::IdealOverlay(ViewState& state, QObject* parent) : QObject(parent), state_(state) {
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (on_) refresh();
    });
    // Cancels work for the previous session. The following change of the step restarts it.
    connect(&state_, &ViewState::sessionChanged, this, [this] { job_.cancel(); });
    // Another reference replaces this one.
    connect(&state_, &ViewState::referenceChanged, this, [this] {
        if (on_ && state_.reference() && state_.reference()->name != tr("ideal")) setOn(false);
    });
}

void IdealOverlay::setOn(bool on) {
    if (on == on_) return;
    on_ = on;
    if (on) {
        refresh();
    } else {
        job_.cancel();
        if (state_.reference() && state_.reference()->name == tr("ideal")) state_.setReference(nullptr);
    }
    emit toggled(on);
}

void IdealOverlay::refresh() {
    if (!state_.pipeline()) return;
    job_.start(
        [session = state_.pipeline(), step = state_.step()](JobControl&) {
            const StepTimeline& observed = session->step(step);
            return std::pair(step, simulate(plannedOrder(session->run), typicalOpCosts(observed)));
        },
        [this](std::pair<int, Result<StepTimeline>> made) {
            if (!made.second.ok()) return setOn(false);
            const TimeNs begin = state_.pipeline()->window(made.first).begin;
            state_.setReference(std::make_shared<const ReferenceOverlay>(ReferenceOverlay::make(
                tr("ideal"),
                tr("Simulation of the planned order with this step's typical op times, without transfer times."),
                made.first, std::move(made.second).value(), begin)));
        });
}

} // namespace bubblescope::gui
