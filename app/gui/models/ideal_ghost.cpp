#include "app/gui/models/ideal_ghost.h"

#include "core/analysis/accounting/accounting.h"
#include "core/cost/measured_times.h"
#include "core/graph/simulate.h"

namespace bubblescope::gui {

IdealGhost::IdealGhost(ViewState& state, QObject* parent) : QObject(parent), state_(state) {
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (on_) refresh();
    });
    // What was begun for another session; the step's change, which follows, begins anew.
    connect(&state_, &ViewState::sessionChanged, this, [this] { job_.cancel(); });
    // Another ghost takes its place.
    connect(&state_, &ViewState::ghostChanged, this, [this] {
        if (on_ && state_.ghost() && state_.ghost()->name != tr("ideal")) setOn(false);
    });
}

void IdealGhost::setOn(bool on) {
    if (on == on_) return;
    on_ = on;
    if (on) {
        refresh();
    } else {
        job_.cancel();
        if (state_.ghost() && state_.ghost()->name == tr("ideal")) state_.setGhost(nullptr);
    }
    emit toggled(on);
}

void IdealGhost::refresh() {
    if (!state_.session()) return;
    job_.start(
        [session = state_.session(), step = state_.step()](JobControl&) {
            const StepTimeline& observed = session->step(step);
            return std::pair(step, simulate(plannedOrder(session->run), typicalOpCosts(observed)));
        },
        [this](std::pair<int, Result<StepTimeline>> made) {
            if (!made.second.ok()) return setOn(false);
            const TimeNs begin = state_.session()->window(made.first).begin;
            state_.setGhost(std::make_shared<const Ghost>(Ghost::make(
                tr("ideal"), tr("The planned order at this step's typical op times with free transfers, simulated."),
                made.first, std::move(made.second).value(), begin)));
        });
}

} // namespace bubblescope::gui
