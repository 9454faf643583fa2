#include "core/diagnose/report.h"

#include "core/diagnose/slow_stage.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bubblescope {
namespace {

std::size_t typicalStep(const std::vector<StepAnalysis>& steps) {
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // The first recorded step usually pays for warm-up: lazy initialisation, autotuning, cold caches.
    if (order.size() > 1) order.erase(order.begin());
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    std::ranges::nth_element(order, middle, {}, [&](std::size_t i) { return std::pair(steps[i].wall, i); });
    return *middle;
}

} // namespace

RunReport analyzeRun(const Run& run) {
    std::vector<StepAnalysis> steps;
    for (const StepTimeline& step : run.steps)
        steps.push_back(analyzeStep(step, run.schedule));
    return makeReport(run, std::move(steps));
}

RunReport makeReport(const Run& run, std::vector<StepAnalysis> steps) {
    RunReport report;
    report.steps = std::move(steps);
    report.diagnoses = diagnoseSteps(run);
    report.stages = stageTimes(run.steps);
    report.typical_step = typicalStep(report.steps);
    report.anomalies = findSlowStages(report.stages, run.schedule.microbatches, report.steps[report.typical_step].wall);
    return report;
}

} // namespace bubblescope
