#include "app/gui/models/reference_overlay.h"

#include "app/gui/models/view_state.h"
#include "core/analysis/accounting/accounting.h"
#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"
#include "core/timeline/step_timeline.h"

namespace bubblescope::gui {

ReferenceOverlay ReferenceOverlay::make(QString name, QString explanation, int step, StepTimeline timeline,
                                        TimeNs begin) {
    timeline.comm.clear(); // not drawn
    moveTo(timeline, begin);
    return {std::move(name), std::move(explanation), step, std::move(timeline)};
}

ReferenceOverlay ReferenceOverlay::partWay(const StepTimeline& observed, double fraction) const {
    ReferenceOverlay out{name, explanation, step, blend(observed, timeline, fraction)};
    out.timeline.comm.clear();
    return out;
}

IdealOverlay::IdealOverlay(ViewState& state, QObject* parent) : QObject(parent), state_(state) {
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (on_) refresh();
    });
    // Drops work for the previous session; the change of step that follows starts anew.
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
    if (!state_.session()) return;
    job_.start(
        [session = state_.session(), step = state_.step()](JobControl&) {
            const StepTimeline& observed = session->step(step);
            return std::pair(step, simulate(plannedOrder(session->run), typicalOpCosts(observed)));
        },
        [this](std::pair<int, Result<StepTimeline>> made) {
            if (!made.second.ok()) return setOn(false);
            const TimeNs begin = state_.session()->window(made.first).begin;
            state_.setReference(std::make_shared<const ReferenceOverlay>(ReferenceOverlay::make(
                tr("ideal"), tr("The planned order at this step's typical op times with free transfers, simulated."),
                made.first, std::move(made.second).value(), begin)));
        });
}

} // namespace bubblescope::gui
