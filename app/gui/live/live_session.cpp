#include "app/gui/live/live_session.h"

#include "core/analysis/anomalies/find_anomalies.h"

#include <algorithm>
#include <iterator>

namespace bubblescope::gui {

namespace {

std::size_t opsOf(const StepTimeline& step) {
    std::size_t ops = 0;
    for (const auto& rank : step.ranks)
        ops += rank.size();
    return ops;
}

constexpr int kMaxMissing = 4; ///< steps of which not all was recorded may lie between those that are shown

/// The window keeps a run's first steps as well; an axis with hours between them and the last would show neither.
std::size_t firstShown(const std::vector<StepTimeline>& steps, std::size_t most_ops) {
    std::size_t from = steps.size() - 1;
    std::size_t ops = opsOf(steps[from]);
    while (from > 0) {
        const StepTimeline& before = steps[from - 1];
        ops += opsOf(before);
        const bool same = before.index == steps[from].index;
        if (!same && (steps[from].index - before.index > 1 + kMaxMissing || ops > most_ops)) break;
        --from;
    }
    return from;
}

/// The checks that ran in the steps that are shown, and what they found.
void tellChecks(const live::StepWindow& window, Run& shown, RunReport& report) {
    for (const CheckRecord& check : window.run().checks.checks) {
        if (check.step >= shown.steps.front().index) shown.checks.checks.push_back(check);
    }
    if (shown.checks.checks.empty()) return;
    shown.checks.devices = window.run().checks.devices;
    report.coverage = coverageOf(shown.checks, shown.steps, shown.info ? std::max(1, shown.info->tp) : 1);
    Anomalies found;
    findAadiffFaults({shown, report.steps, report.typical_step, report.clocks, {}, {}, {}, {}, &*report.coverage},
                     found);
    // What the last steps did not cover earlier ones may have.
    std::erase_if(found, [](const Anomaly& anomaly) { return anomaly.kind == AnomalyKind::AadiffUnchecked; });
    std::ranges::move(found, std::back_inserter(report.anomalies));
}

template <class T>
std::vector<T> tail(const std::vector<T>& all, std::size_t from) {
    return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

} // namespace

Result<SessionPtr> liveSession(const live::StepWindow& window, const std::vector<live::LiveAnomaly>& anomalies,
                               std::size_t most_ops, const JobControl& control) {
    const Run& run = window.run();
    if (run.steps.empty()) return SessionPtr();
    const std::size_t from = firstShown(run.steps, most_ops);
    auto session = std::make_shared<Session>();
    Run& shown = session->run;
    shown.format = run.format;
    shown.annotation = run.annotation;
    shown.info = run.info;
    shown.schedule = run.schedule;
    shown.departure = run.departure;
    shown.closest = run.closest;
    shown.closest_order = run.closest_order;
    shown.explanation = run.explanation;
    shown.steps = tail(run.steps, from);
    shown.span = shown.steps.back().end - shown.steps.front().begin;
    RunReport& report = session->report;
    report.steps = tail(window.analyses(), from);
    report.diagnoses = tail(window.diagnoses(), from);
    report.stages = stageTimes(shown.steps);
    report.clocks = window.clocks();
    report.typical_step = typicalStep(report.steps);
    for (const live::LiveAnomaly& found : anomalies)
        report.anomalies.push_back(found.anomaly);
    tellChecks(window, session->run, report);
    session->lanes = Lanes(shown.steps, report.steps, shown.checks.checks);
    session->overview = Overview(session->lanes);
    BUBBLESCOPE_ASSIGN(session->raw, RawLanes::build(shown, report.clocks, session->lanes, control));
    return SessionPtr(std::move(session));
}

} // namespace bubblescope::gui
