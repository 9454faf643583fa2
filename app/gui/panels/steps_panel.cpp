#include "app/gui/panels/steps_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace bubblescope::gui {

namespace {

double evidence(const Anomaly& anomaly, std::string_view name) {
    for (const auto& [key, value] : anomaly.evidence) {
        if (key == name) return value;
    }
    return 0;
}

/// Marks for the changes between steps, with positions in the selection of steps.
std::vector<StepChart::Mark> changesOf(const Session& session) {
    std::vector<StepChart::Mark> marks;
    const std::vector<SelectedStep>& steps = session.report.selection.steps();
    for (const Anomaly& anomaly : session.report.anomalies) {
        if (anomaly.kind != AnomalyKind::StepTimeChange || !anomaly.step) continue;
        const auto at = std::ranges::find(steps, *anomaly.step, &SelectedStep::index);
        if (at == steps.end()) continue;
        const double ratio = evidence(anomaly, "ratio");
        marks.push_back({static_cast<int>(at - steps.begin()), relativeChange(ratio - 1), ratio > 1});
    }
    std::ranges::sort(marks, {}, &StepChart::Mark::step);
    return marks;
}

/// The steps that the analysis excludes.
StepChart::Aside asideOf(const Session& session) {
    StepChart::Aside aside;
    int at = 0;
    for (const SelectedStep& step : session.report.selection.steps()) {
        switch (step.why) {
        case SetAside::WarmUp: aside[at] = tr("Excluded: warm-up"); break;
        case SetAside::Outlier: aside[at] = tr("Excluded: outlier"); break;
        case SetAside::None:
        case SetAside::NotAsked: break;
        }
        ++at;
    }
    return aside;
}

} // namespace

StepsPanel::StepsPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : StepChart(themes, parent), state_(state), fill_(new FillWhenVisible(*this, [this] { showSession(); })) {
    connect(&state_, &ViewState::sessionChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::modelChanged, fill_, &FillWhenVisible::markStale);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (!fill_->stale()) setCurrent(chartStep(state_.step()));
    });
    connect(this, &StepChart::stepChosen, this, [this](int step) {
        if (state_.pipeline()) return state_.showStep(timelineOf(step));
        setCurrent(step);
        showRange(step, step);
    });
    connect(this, &StepChart::rangeChosen, this, &StepsPanel::showRange);
    showSession();
}

/// Step of the chart that contains a timeline.
int StepsPanel::chartStep(int timeline) const {
    if (!state_.pipeline() || timeline < 0) return -1;
    const auto& steps = state_.pipeline()->report.selection.steps();
    const auto at = std::ranges::find(steps, state_.pipeline()->step(timeline).index, &SelectedStep::index);
    return at == steps.end() ? -1 : static_cast<int>(at - steps.begin());
}

/// Timeline of a step of the chart on the current replica, or on the slowest one.
int StepsPanel::timelineOf(int step) const {
    const Session& session = *state_.pipeline();
    const SelectedStep& chosen = session.report.selection.steps()[static_cast<std::size_t>(step)];
    const int replica = session.step(std::max(0, state_.step())).replica;
    for (const std::size_t timeline : chosen.timelines) {
        if (session.run.steps[timeline].replica == replica) return static_cast<int>(timeline);
    }
    return static_cast<int>(chosen.longest);
}

void StepsPanel::showRange(int first, int last) {
    const auto at = [](const auto& list, int index) -> const auto& {
        return list[static_cast<std::size_t>(index)];
    };
    if (!state_.pipeline()) return state_.range().show(padded({at(marked_, first).begin, at(marked_, last).end}, 0.05));
    const auto& steps = state_.pipeline()->report.selection.steps();
    state_.showSteps(static_cast<int>(at(steps, first).timelines.front()), static_cast<int>(at(steps, last).longest));
}

namespace {

/// A step marked in the files, combined over all of them.
struct MarkedStep {
    TimeRange range{TimeNs::max(), TimeNs::min()};
    TimeNs longest{0};
    int devices = 0; ///< number of files with devices
    TimeNs compute{0};
    TimeNs exposed{0};
    TimeNs idle{0};

    void add(const StepActivity& step) {
        range = {std::min(range.begin, step.start), std::max(range.end, step.start + step.duration)};
        longest = std::max(longest, step.duration);
        if (step.times.span() <= TimeNs{0}) return;
        ++devices;
        compute += step.times.compute();
        exposed += step.times.exposedCommunication();
        idle += step.times.idle();
    }
    [[nodiscard]] double mean(TimeNs sum) const {
        return devices == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(sum.count()) / devices;
    }
};

} // namespace

void StepsPanel::showActivity(const Session& session) {
    std::map<std::int64_t, MarkedStep> steps;
    bool any_device = false;
    for (const FileActivity& file : session.activity) {
        for (const StepActivity& step : file.steps)
            steps[step.index].add(step);
    }
    Curve walls = timeCurve();
    const auto part = [&](const QString& title, Role role) {
        Curve curve = timeCurve();
        curve.title = title;
        curve.data.from_zero = true;
        curve.colour = [role](const Theme& theme) { return theme.fill(role); };
        return curve;
    };
    Curve compute = part(tr("Compute, mean over devices"), Role::Forward);
    Curve exposed = part(tr("Exposed communication"), Role::Send);
    Curve idle = part(tr("Idle time"), Role::Bubble);
    std::vector<int> numbers;
    for (const auto& [index, step] : steps) {
        numbers.push_back(static_cast<int>(index));
        marked_.push_back(step.range);
        any_device = any_device || step.devices > 0;
        walls.data.values.push_back(static_cast<double>(step.longest.count()));
        compute.data.values.push_back(step.mean(step.compute));
        exposed.data.values.push_back(step.mean(step.exposed));
        idle.data.values.push_back(step.mean(step.idle));
    }
    std::vector<Curve> curves;
    if (!steps.empty()) curves.push_back(std::move(walls));
    if (state_.modelUse() && !steps.empty()) curves.push_back(useCurve(*state_.modelUse(), curves.front().data.values));
    if (any_device) {
        for (Curve* const curve : {&compute, &exposed, &idle})
            curves.push_back(std::move(*curve));
    }
    setCurves(std::move(curves), std::move(numbers), {});
}

void StepsPanel::showSession() {
    marked_.clear();
    if (!state_.session()) return setCurves({}, {}, {});
    if (!state_.pipeline()) return showActivity(*state_.session());
    const Session& session = *state_.pipeline();
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    Curve walls = timeCurve();
    Curve rates = bubbleRateCurve();
    std::vector<int> numbers;
    const std::vector<int>& replicas = session.lanes.replicas();
    const auto& steps = session.report.selection.steps();
    if (replicas.size() > 1) {
        walls.title = tr("%1: the slowest replica, and all %2 replicas").arg(walls.title).arg(replicas.size());
        walls.data.from_zero = true; // the curves of the other replicas are lower
        walls.lines.assign(replicas.size(), std::vector<double>(steps.size(), kUnknown));
        rates.lines = walls.lines;
    }
    for (std::size_t at = 0; at < steps.size(); ++at) {
        const SelectedStep& step = steps[at];
        const StepAnalysis& slowest = session.report.steps[step.longest];
        numbers.push_back(step.index);
        walls.data.values.push_back(static_cast<double>(step.time.count()));
        rates.data.values.push_back(slowest.rates.over_makespan);
        rates.expected.push_back(slowest.form ? slowest.form->bubble_rate : kUnknown);
        for (const std::size_t timeline : walls.lines.empty() ? std::vector<std::size_t>() : step.timelines) {
            const auto replica = static_cast<std::size_t>(
                std::ranges::lower_bound(replicas, session.run.steps[timeline].replica) - replicas.begin());
            walls.lines[replica][at] = static_cast<double>(session.report.steps[timeline].wall.count());
            rates.lines[replica][at] = session.report.steps[timeline].rates.over_makespan;
        }
    }
    std::vector<StepValues> stated;
    for (const SelectedStep& step : steps)
        stated.push_back(session.valuesOf(step));
    std::vector<Curve> curves = statedCurves(stated, walls.data.values);
    if (state_.modelUse()) curves.insert(curves.begin(), useCurve(*state_.modelUse(), walls.data.values));
    curves.insert(curves.begin(), {std::move(walls), std::move(rates)});
    setCurves(std::move(curves), std::move(numbers), changesOf(session), asideOf(session));
    setCurrent(chartStep(state_.step()));
}

} // namespace bubblescope::gui
