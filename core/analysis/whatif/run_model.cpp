#include "core/analysis/whatif/run_model.h"

#include "core/analysis/whatif/timeline_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {

TimeNs RunModel::observed() const {
    TimeNs sum{0};
    for (const RunStep& step : steps)
        sum += step.observed;
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

Result<RunModel> runModel(const Run& run, std::span<const int> steps) {
    RunModel model;
    if (!run.files.empty()) model.where = run.files.front().string();
    if (run.files.size() > 1) model.where += fmt::format(" and {} more", run.files.size() - 1);
    model.pp = run.schedule.pp;
    model.vpp = run.schedule.vpp;
    model.microbatches = run.schedule.microbatches;
    model.placement = run.schedule.placement;
    const auto exists = [&](int index) {
        return std::ranges::any_of(run.steps, [index](const StepTimeline& step) { return step.index == index; });
    };
    for (const int index : steps) {
        if (exists(index)) continue;
        return usageError(fmt::format("there is no step {}", index),
                          fmt::format("steps {} to {} are complete", run.steps.front().index, run.steps.back().index));
    }
    std::vector<const StepTimeline*> wanted;
    for (const StepTimeline& step : run.steps) {
        if (steps.empty() || std::ranges::find(steps, step.index) != steps.end()) wanted.push_back(&step);
    }
    const bool streams = run.annotation == kStragglerRule && run.trace != nullptr;
    return streams ? stragglerGraph(*run.trace, wanted, std::move(model)) : timelineGraph(wanted, std::move(model));
}

} // namespace bubblescope
