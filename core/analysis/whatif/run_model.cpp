#include "core/analysis/whatif/run_model.h"

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/whatif/timeline_graph.h"
#include "core/timeline/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {

TimeNs RunModel::observed() const {
    TimeNs sum{0};
    for (const RunStep& step : steps)
        sum += step.observed;
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

namespace {

/// The accounting's graph of the steps at these places of the run.
Result<RunModel> accountedModel(const Run& run, const StepSelection& selection, const std::vector<std::size_t>& places,
                                TimeNs clock_error, const RunModel& sizes) {
    const UsualTimes usual(run.steps, selection);
    const std::vector<StepReplays> replays = replaysOf(run.checks, run.steps);
    std::vector<KnownStep> steps;
    for (const std::size_t place : places) {
        StepKnowledge known = knownOfSteps(run, clock_error);
        if (!replays.empty()) known.replays = replays[place];
        steps.push_back({&run.steps[place], known});
    }
    StepReading reading{usual, plannedOrder(run)};
    BUBBLESCOPE_ASSIGN(RunModel model, timelineGraph(steps, reading, sizes));
    const bool departs = std::ranges::any_of(
        steps, [&](const KnownStep& each) { return executedOrder(*each.step).ranks != reading.plan.ranks; });
    if (!departs) return model;
    reading.as_planned = true;
    BUBBLESCOPE_ASSIGN(RunModel planned, timelineGraph(steps, reading, sizes));
    model.planned = std::make_shared<const RunModel>(std::move(planned));
    return model;
}

} // namespace

Result<RunModel> runModel(const Run& run) {
    return runModel(run, selectSteps(run.steps));
}

Result<RunModel> runModel(const Run& run, const StepSelection& selection, TimeNs clock_error) {
    RunModel model;
    if (!run.files.empty()) model.where = run.files.front().string();
    if (run.files.size() > 1) model.where += fmt::format(" and {} more", run.files.size() - 1);
    model.pp = run.schedule.pp;
    model.vpp = run.schedule.vpp;
    model.microbatches = run.schedule.microbatches;
    model.placement = run.schedule.placement;
    model.step_time = selection.stepTime();
    model.selection = selection;
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (selection.takes(i)) wanted.push_back(i);
    }
    BUBBLESCOPE_ASSIGN(RunModel accounted, accountedModel(run, selection, wanted, clock_error, model));
    if (run.annotation != kStragglerRule || run.trace == nullptr) return accounted;
    std::vector<const StepTimeline*> timelines;
    for (const std::size_t place : wanted)
        timelines.push_back(&run.steps[place]);
    BUBBLESCOPE_ASSIGN(RunModel streams, stragglerGraph(*run.trace, timelines, std::move(model)));
    streams.check = accounted.check;
    streams.accounted = std::make_shared<const RunModel>(std::move(accounted));
    return streams;
}

} // namespace bubblescope
