#include "core/analysis/whatif/scenario.h"

#include "core/analysis/whatif/run_graph.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

OpKind kindOf(RunOp op) {
    switch (op) {
    case RunOp::Forward: return OpKind::Forward;
    case RunOp::BackwardInput: return OpKind::BackwardInput;
    case RunOp::BackwardWeight: return OpKind::BackwardWeight;
    default: return OpKind::Backward;
    }
}

Result<StepTimeline> timelineOf(const RunModel& model, const std::vector<TimeNs>& durations, std::size_t step,
                                std::size_t replica) {
    if (step >= model.steps.size() || replica >= model.replicas.size())
        return usageError("the run has no such step", "choose an existing step");
    const RunSimulation simulation(model.graph(), durations);
    StepTimeline timeline;
    timeline.index = model.steps[step].index;
    timeline.replica = model.replicas[replica];
    timeline.pp = model.pp;
    timeline.vpp = model.vpp;
    timeline.microbatches = model.microbatches;
    timeline.placement = model.placement;
    timeline.ranks.resize(static_cast<std::size_t>(model.pp));
    timeline.comm.resize(timeline.ranks.size());
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        const RunNode& node = model.graph().node(id);
        if (!isPipelineCompute(node.op) || static_cast<std::size_t>(node.step) != step ||
            static_cast<std::size_t>(node.replica) != replica)
            continue;
        if (node.op == RunOp::Pair)
            return usageError("cannot draw the changed step: it has overlapped pairs",
                              "its predicted time and bubbles remain valid");
        TimelineOp op;
        op.op = {kindOf(node.op), node.microbatch, node.chunk, node.sequence};
        op.start = simulation.start(id);
        op.end = simulation.end(id);
        timeline.ranks[node.rank.index()].push_back(op);
    }
    for (auto& ops : timeline.ranks)
        std::ranges::stable_sort(ops, {}, &TimelineOp::start);
    timeline.fitWindow();
    for (auto& ops : timeline.ranks) {
        for (TimelineOp& op : ops) {
            op.start -= timeline.begin;
            op.end -= timeline.begin;
        }
    }
    timeline.end -= timeline.begin;
    timeline.begin = TimeNs{0};
    return timeline;
}

} // namespace

Result<StepTimeline> predictedStep(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                   const ModelCut& cut, std::size_t step, std::size_t replica) {
    if (run.accounted && scenario.ofCauses()) return predictedStep(*run.accounted, order, scenario, cut, step, replica);
    const RunModel& then = scenario.asPlanned() && run.planned && !scenario.pipeline.any() ? *run.planned : run;
    BUBBLESCOPE_ASSIGN(const std::vector<TimeNs> changed, changedDurations(then, scenario.times));
    if (!scenario.pipeline.any()) return timelineOf(then, changed, step, replica);
    BUBBLESCOPE_ASSIGN(const Rescheduled after, reschedule(run, changed, order, scenario.pipeline, cut));
    return timelineOf(after.model, after.model.timed.durations, step, replica);
}

namespace {

Result<StepTimeline> predictedTimeline(const RunModel& all, const Schedule& order, const Scenario& scenario,
                                       const ModelCut& cut, const StepTimeline& observed) {
    // The typical step, as in predict().
    const bool is_typical = all.typical && all.typical->steps.front().index == observed.index;
    const RunModel& run = is_typical ? *all.typical : all;
    const auto step = std::ranges::find(run.steps, observed.index, &RunStep::index);
    const auto replica = std::ranges::find(run.replicas, observed.replica);
    if (step == run.steps.end() || replica == run.replicas.end())
        return usageError("the replay does not contain this step", "choose another one");
    return predictedStep(run, order, scenario, cut, static_cast<std::size_t>(step - run.steps.begin()),
                         static_cast<std::size_t>(replica - run.replicas.begin()));
}

} // namespace

Result<ScenarioAnswer> answerScenario(const RunModel& run, const Schedule& order, const Scenario& scenario,
                                      const ModelCut& cut, const StepTimeline& step) {
    ScenarioAnswer out;
    BUBBLESCOPE_ASSIGN(out.prediction, predict(run, order, scenario, cut));
    Result<StepTimeline> timeline = predictedTimeline(run, order, scenario, cut, step);
    if (timeline.ok()) {
        out.timeline = std::move(timeline).value();
    } else {
        out.no_timeline = timeline.error().text();
    }
    return out;
}

} // namespace bubblescope
