#include "core/analysis/whatif/run_model.h"

#include "core/analysis/whatif/timeline_graph.h"

#include <fmt/format.h>

namespace bubblescope {

TimeNs RunModel::observed() const {
    TimeNs sum{0};
    for (const RunStep& step : steps)
        sum += step.observed;
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

Result<RunModel> runModel(const Run& run) {
    return runModel(run, selectSteps(run.steps));
}

Result<RunModel> runModel(const Run& run, const StepSelection& selection) {
    RunModel model;
    if (!run.files.empty()) model.where = run.files.front().string();
    if (run.files.size() > 1) model.where += fmt::format(" and {} more", run.files.size() - 1);
    model.pp = run.schedule.pp;
    model.vpp = run.schedule.vpp;
    model.microbatches = run.schedule.microbatches;
    model.placement = run.schedule.placement;
    model.step_time = selection.stepTime();
    model.selection = selection;
    std::vector<const StepTimeline*> wanted;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (selection.takes(i)) wanted.push_back(&run.steps[i]);
    }
    const bool streams = run.annotation == kStragglerRule && run.trace != nullptr;
    return streams ? stragglerGraph(*run.trace, wanted, std::move(model)) : timelineGraph(wanted, std::move(model));
}

} // namespace bubblescope
