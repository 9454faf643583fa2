#include "core/live/recent_steps.h"

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/run_in_parts.h"

#include <algorithm>
#include <iterator>

namespace bubblescope::live {
namespace {

constexpr int kMaxMissing = 4; ///< steps of which not all was recorded may lie between the recent ones

/// The window keeps a run's first steps as well. On one axis with the last ones, hours later, neither could be seen.
std::size_t firstRecent(const std::vector<StepTimeline>& steps, std::size_t max_ops) {
    std::size_t from = steps.size() - 1;
    std::size_t ops = steps[from].opCount();
    while (from > 0) {
        const StepTimeline& before = steps[from - 1];
        ops += before.opCount();
        const bool same = before.index == steps[from].index;
        if (!same && (steps[from].index - before.index > 1 + kMaxMissing || ops > max_ops)) break;
        --from;
    }
    return from;
}

template <class T>
std::vector<T> tail(const std::vector<T>& all, std::size_t from) {
    return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

/// Adds the checks that ran in the recent steps, and what they found.
void addRecentChecks(const CheckLog& log, Run& run, RunReport& report) {
    for (const CheckRecord& check : log.checks) {
        if (check.step >= run.steps.front().index) run.checks.checks.push_back(check);
    }
    if (run.checks.checks.empty()) return;
    run.checks.devices = log.devices;
    report.coverage = coverageOf(run.checks, run.steps, run.info ? std::max(1, run.info->tp) : 1);
    Anomalies found;
    findAadiffFaults({run, report.steps, report.selection, report.clocks, {}, {}, {}, {}, &*report.coverage}, found);
    // Earlier steps may have covered what these did not.
    std::erase_if(found, [](const Anomaly& anomaly) { return anomaly.kind == AnomalyKind::AadiffUnchecked; });
    std::ranges::move(found, std::back_inserter(report.anomalies));
}

} // namespace

std::optional<DiagnosedRun> recentSteps(const StepWindow& window, const std::vector<LiveAnomaly>& anomalies,
                                        std::size_t max_ops) {
    const Run& whole = window.run();
    if (whole.steps.empty()) return std::nullopt;
    const std::size_t from = firstRecent(whole.steps, max_ops);
    DiagnosedRun out{withoutSteps(whole), {}};
    Run& run = out.run;
    run.steps = tail(whole.steps, from);
    run.span = run.steps.back().end - run.steps.front().begin;
    RunReport& report = out.report;
    report.steps = tail(window.analyses(), from);
    report.accounts = tail(window.accounts(), from);
    report.selection = selectSteps(run.steps);
    report.stages = stageTimes(run.steps, report.selection);
    report.clocks = window.clocks();
    for (const LiveAnomaly& found : anomalies)
        report.anomalies.push_back(found.anomaly);
    addRecentChecks(whole.checks, run, report);
    return out;
}

} // namespace bubblescope::live
