#include "profiler/collect/step_window.h"

#include "core/diagnose/anomalies/input.h"
#include "core/recognise/match_schedule.h"
#include "core/timeline/typical_costs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace bubblescope::profiler {
namespace {

void addTo(LiveStep& into, const StepAnalysis& analysis, double share) {
    into.wall = std::max(into.wall, analysis.wall);
    into.bubble_rate += share * analysis.rates.over_makespan;
    for (const RankAccount& rank : analysis.ranks) {
        into.busy += rank.busy;
        into.bubble += rank.bubble;
    }
    if (!analysis.form) return;
    into.expected_rate = into.expected_rate.value_or(0) + share * analysis.form->bubble_rate;
    into.expected_bubble = into.expected_bubble.value_or(TimeNs{0});
    for (const RankAccount& rank : analysis.ranks)
        *into.expected_bubble += rank.expected_bubble.value_or(TimeNs{0});
}

} // namespace

StepWindow::StepWindow(const RunInfo& info, const Thresholds& thresholds, Limits limits)
    : thresholds_(thresholds), limits_(limits) {
    run_.info = info;
    run_.format = "perfetto";
    run_.annotation = "Bubblescope";
    run_.explanation.source = "stated";
}

void StepWindow::nameSchedule(const StepTimeline& first) {
    Schedule observed = executedOrder(first);
    observed.name = run_.info->schedule;
    observed.flavor = run_.info->flavor;
    ScheduleMatch match = matchSchedule(observed, typicalCosts(first));
    run_.schedule = std::move(match.schedule);
    run_.departure = match.departure;
    run_.closest = std::move(match.closest);
    run_.closest_order = std::move(match.closest_order);
    analyzer_ = std::make_unique<StepAnalyzer>(run_.schedule);
}

void StepWindow::add(std::vector<StepTimeline> timelines, const RunClocks& clocks, LiveStep& into) {
    if (timelines.empty()) return;
    if (analyzer_ == nullptr) nameSchedule(timelines.front());
    clocks_ = clocks;
    const double share = 1 / static_cast<double>(timelines.size());
    for (const StepTimeline& timeline : timelines) {
        analyses_.push_back(analyzer_->analyze(timeline));
        addTo(into, analyses_.back(), share);
    }
    const std::size_t from = run_.steps.size();
    std::ranges::move(timelines, std::back_inserter(run_.steps));
    for (const StepDiagnosis& diagnosis : diagnoseSteps(run_, clocks_.bound(), from)) {
        for (const RankAccounting& rank : diagnosis.accounting.ranks) {
            for (std::size_t cause = 0; cause < kCauseCount; ++cause)
                into.causes[cause] += rank.causes[cause];
        }
    }
    trim();
}

/// The first steps stay: without them nobody would know what was usual before something changed.
void StepWindow::trim() {
    std::set<int> numbers;
    for (const StepTimeline& step : run_.steps)
        numbers.insert(step.index);
    if (numbers.size() <= limits_.first + limits_.last) return;
    const int goes = *std::next(numbers.begin(), static_cast<std::ptrdiff_t>(limits_.first));
    std::erase_if(analyses_, [goes](const StepAnalysis& step) { return step.index == goes; });
    std::erase_if(run_.steps, [goes](const StepTimeline& step) { return step.index == goes; });
}

std::vector<Anomaly> StepWindow::findings() const {
    constexpr int kFewest = 3;
    // What is told of a median of all steps is looked at again with every step: the first few are too few.
    constexpr int kSteady = 8;
    const int steps = run_.steps.empty() ? 0 : run_.steps.back().index - run_.steps.front().index + 1;
    if (steps < kFewest) return {};
    std::vector<Anomaly> found = findAnomalies(
        {run_, analyses_, typicalStep(analyses_), clocks_, thresholds_, {}, knownOfSteps(run_, clocks_.bound())});
    if (steps < kSteady)
        std::erase_if(found, [](const Anomaly& one) { return one.kind == AnomalyKind::BubbleAboveForm; });
    return found;
}

} // namespace bubblescope::profiler
