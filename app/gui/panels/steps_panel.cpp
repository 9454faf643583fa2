#include "app/gui/panels/steps_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <algorithm>
#include <limits>

namespace bubblescope::gui {

namespace {

double evidence(const Anomaly& anomaly, std::string_view name) {
    for (const auto& [key, value] : anomaly.evidence) {
        if (key == name) return value;
    }
    return 0;
}

std::vector<StepChart::Mark> changesOf(const Session& session) {
    std::vector<StepChart::Mark> marks;
    for (const Anomaly& anomaly : session.report.anomalies) {
        if (anomaly.kind != AnomalyKind::StepTimeChange || !anomaly.step) continue;
        for (int place = 0; place < session.stepCount(); ++place) {
            if (session.step(place).index != *anomaly.step) continue;
            const double ratio = evidence(anomaly, "ratio");
            marks.push_back({place, percentDelta(ratio - 1), ratio > 1});
            break;
        }
    }
    std::ranges::sort(marks, {}, &StepChart::Mark::step);
    return marks;
}

/// The steps that the analysis sets aside.
StepChart::Aside asideOf(const Session& session) {
    StepChart::Aside aside;
    for (int place = 0; place < session.stepCount(); ++place) {
        switch (session.report.selection.whyAside(static_cast<std::size_t>(place))) {
        case SetAside::WarmUp: aside[place] = StepsPanel::tr("Set aside: warm-up"); break;
        case SetAside::Outlier: aside[place] = StepsPanel::tr("Set aside: outlier"); break;
        case SetAside::None:
        case SetAside::NotAsked: break;
        }
    }
    return aside;
}

} // namespace

StepsPanel::StepsPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : StepChart(themes, parent), state_(state), fill_(new FillWhenVisible(*this, [this] { showSession(); })) {
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!fill_->stale()) setCurrent(state_.step());
    });
    connect(this, &StepChart::stepChosen, &state_, &ViewState::showStep);
    connect(this, &StepChart::rangeChosen, &state_, &ViewState::showSteps);
    showSession();
}

void StepsPanel::showSession() {
    if (!state_.session()) return setCurves({}, {}, {});
    const Session& session = *state_.session();
    Curve walls = timeCurve();
    Curve rates = bubbleRateCurve();
    std::vector<int> numbers;
    for (int place = 0; place < session.stepCount(); ++place) {
        const StepAnalysis& analysis = session.analysis(place);
        numbers.push_back(session.step(place).index);
        walls.data.values.push_back(static_cast<double>(analysis.wall.count()));
        rates.data.values.push_back(analysis.rates.over_makespan);
        rates.expected.push_back(analysis.form ? analysis.form->bubble_rate : std::numeric_limits<double>::quiet_NaN());
    }
    setCurves({std::move(walls), std::move(rates)}, std::move(numbers), changesOf(session), asideOf(session));
    setCurrent(state_.step());
}

} // namespace bubblescope::gui
