#include "core/analysis/whatif/scenario.h"

#include "core/analysis/whatif/run_graph.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

/// Per rank: the time in which it runs no op of the pipeline while its replica's pipeline runs, mean over steps
/// and replicas.
std::vector<TimeNs> bubbles(const RunModel& model, const RunSimulation& simulation) {
    struct Pipeline {
        TimeNs begin = TimeNs::max();
        TimeNs end = TimeNs::min();
    };
    const auto ranks = static_cast<std::size_t>(model.pp);
    std::vector<Pipeline> pipelines(model.steps.size() * model.replicas.size());
    std::vector<TimeNs> busy(ranks);
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        const RunNode& node = model.graph().node(id);
        if (!isPipelineCompute(node.op)) continue;
        Pipeline& pipeline = pipelines[static_cast<std::size_t>(node.step) * model.replicas.size() +
                                       static_cast<std::size_t>(node.replica)];
        pipeline.begin = std::min(pipeline.begin, simulation.start(id));
        pipeline.end = std::max(pipeline.end, simulation.end(id));
        busy[node.rank.index()] += simulation.duration(id);
    }
    TimeNs windows{0};
    std::int64_t count = 0;
    for (const Pipeline& pipeline : pipelines) {
        if (pipeline.end < pipeline.begin) continue;
        windows += pipeline.end - pipeline.begin;
        ++count;
    }
    std::vector<TimeNs> result;
    for (const TimeNs time : busy)
        result.push_back(count == 0 ? TimeNs{0} : (windows - time) / count);
    return result;
}

Prediction compare(const RunModel& before, const std::vector<TimeNs>& durations_before, const RunModel& after,
                   const std::vector<TimeNs>& durations_after) {
    const RunSimulation was(before.graph(), durations_before);
    const RunSimulation would_be(after.graph(), durations_after);
    Prediction prediction;
    prediction.before = was.meanStep();
    prediction.after = would_be.meanStep();
    prediction.late = prediction.before - RunSimulation(before.graph(), withoutLateStarts(before)).meanStep();
    prediction.fit = {before.observed(), prediction.before};
    prediction.microbatches_before = before.microbatches;
    prediction.microbatches_after = after.microbatches;
    const std::vector<TimeNs> bubbles_before = bubbles(before, was);
    const std::vector<TimeNs> bubbles_after = bubbles(after, would_be);
    for (std::size_t r = 0; r < bubbles_before.size(); ++r)
        prediction.ranks.push_back({Rank{r}, bubbles_before[r], bubbles_after[r]});
    return prediction;
}

} // namespace

double Prediction::relativeChange() const {
    return before.count() == 0 ? 0 : static_cast<double>(change().count()) / static_cast<double>(before.count());
}

Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario, const ModelCut& cut,
                           double most_error) {
    BUBBLESCOPE_ASSIGN(const std::vector<TimeNs> changed, changedDurations(run, scenario.times));
    if (!scenario.pipeline.any()) {
        Prediction prediction = compare(run, run.timed.durations, run, changed);
        prediction.step = run.step_time;
        BUBBLESCOPE_TRY(checkFit(run, prediction.fit, most_error));
        return prediction;
    }
    BUBBLESCOPE_ASSIGN(const Rescheduled before, reschedule(run, run.timed.durations, order, {}, cut));
    BUBBLESCOPE_ASSIGN(Rescheduled after, reschedule(run, changed, order, scenario.pipeline, cut));
    Prediction prediction =
        compare(before.model, before.model.timed.durations, after.model, after.model.timed.durations);
    prediction.step = run.step_time;
    BUBBLESCOPE_TRY(checkFit(run, prediction.fit, most_error));
    prediction.schedule = std::move(after.schedule);
    prediction.microbatches_after /= scenario.pipeline.split; // parts of one count as one
    return prediction;
}

} // namespace bubblescope
