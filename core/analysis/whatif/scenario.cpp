#include "core/analysis/whatif/scenario.h"

#include "core/analysis/whatif/run_graph.h"
#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

/// Per rank: the time in which it runs no op of the pipeline while its replica's pipeline runs, averaged over steps and
/// replicas.
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

/// Per step, the time that its longest-running rank leaves: all ranks of the next step can begin that much before the
/// end. Mean over steps and replicas.
TimeNs meanOverlap(const RunModel& model, const RunSimulation& simulation) {
    struct Window {
        TimeNs begin = TimeNs::max();
        TimeNs end = TimeNs::min();

        void add(TimeNs from, TimeNs to) {
            begin = std::min(begin, from);
            end = std::max(end, to);
        }
    };
    std::map<std::pair<std::int32_t, std::int32_t>, std::map<Rank, Window>> steps; // by step and replica
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        const RunNode& node = model.graph().node(id);
        if (isPipelineCompute(node.op) || isOuterNode(node.op))
            steps[{node.step, node.replica}][node.rank].add(simulation.start(id), simulation.end(id));
    }
    TimeNs sum{0};
    for (const auto& [place, ranks] : steps) {
        Window all;
        TimeNs longest{0};
        for (const auto& [rank, window] : ranks) {
            all.add(window.begin, window.end);
            longest = std::max(longest, window.end - window.begin);
        }
        sum += all.end - all.begin - longest;
    }
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

/// Standard error of a step's mean change.
TimeNs standardError(const std::vector<TimeNs>& before, const std::vector<TimeNs>& after) {
    const auto count = static_cast<double>(before.size());
    if (before.size() < 2) return TimeNs{0};
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const auto change = static_cast<double>((after[i] - before[i]).count());
        sum += change;
        squares += change * change;
    }
    const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
    return TimeNs{std::llround(std::sqrt(variance / count))};
}

/// The error of the run's own order, averaged over the steps, with the times used for another order.
TimeNs meanOff(const RunModel& run, const RunModel& rebuilt) {
    const std::vector<TimeNs> times = RunSimulation(rebuilt.graph(), rebuilt.timed.durations).stepTimes();
    TimeNs off{0};
    for (std::size_t i = 0; i < times.size(); ++i)
        off += std::max(times[i] - run.steps[i].observed, run.steps[i].observed - times[i]);
    return times.empty() ? off : off / static_cast<std::int64_t>(times.size());
}

/// Number of ops in all steps of a model; a pair counts as two.
double opCount(const RunModel& model) {
    double count = 0;
    for (const RunNode& node : model.graph().nodes())
        count += node.op == RunOp::Pair ? 2 : isPipelineCompute(node.op) ? 1 : 0;
    return count;
}

/// Time between ops without a recorded reason in a mean step.
TimeNs betweenOps(const RunModel& model) {
    std::vector<TimeNs> without = withoutCause(model, Cause::LateStart);
    for (NodeId id = 0; id < model.graph().size(); ++id) {
        if (model.graph().node(id).op == RunOp::HostGap) without[static_cast<std::size_t>(id)] = TimeNs{0};
    }
    return RunSimulation(model.graph(), model.timed.durations).meanStep() -
           RunSimulation(model.graph(), without).meanStep();
}

/// Scales a mean over the steps to the typical one.
TimeNs ofTypicalStep(const Prediction& prediction, TimeNs mean) {
    if (prediction.step == prediction.fit.observed || prediction.fit.observed <= TimeNs{0}) return mean;
    const double share = fractionOf(mean, prediction.fit.observed);
    return TimeNs{std::llround(share * static_cast<double>(prediction.step.count()))};
}

/// Completes a prediction once the spread is known; for another order, including its error.
void finish(Prediction& prediction, const RunModel& run, TimeNs reorder) {
    prediction.step = run.step_time;
    prediction.check = run.check;
    ErrorBar& bar = prediction.bar;
    bar.replay = TimeNs{std::llround(run.check.error() * std::abs(static_cast<double>(prediction.change().count())))};
    bar.spread = ofTypicalStep(prediction, bar.spread);
    bar.reorder = ofTypicalStep(prediction, reorder);
    prediction.gaps_added = ofTypicalStep(prediction, prediction.gaps_added);
    bar.gaps = ofTypicalStep(prediction, bar.gaps);
    double squares = 0;
    for (const TimeNs part : {bar.replay, bar.spread, bar.reorder, bar.gaps})
        squares += static_cast<double>(part.count()) * static_cast<double>(part.count());
    bar.time = TimeNs{std::llround(std::sqrt(squares))};
}

Prediction compare(const RunModel& before, const std::vector<TimeNs>& durations_before, const RunModel& after,
                   const std::vector<TimeNs>& durations_after) {
    const RunSimulation was(before.graph(), durations_before);
    const RunSimulation would_be(after.graph(), durations_after);
    Prediction prediction;
    prediction.before = was.meanStep();
    prediction.after = would_be.meanStep();
    prediction.late =
        prediction.before - RunSimulation(before.graph(), withoutCause(before, Cause::LateStart)).meanStep();
    prediction.fit = {before.observed(), prediction.before};
    prediction.overlap_before = meanOverlap(before, was);
    prediction.overlap_after = meanOverlap(after, would_be);
    prediction.microbatches_before = before.microbatches;
    prediction.microbatches_after = after.microbatches;
    prediction.bar.spread = standardError(was.stepTimes(), would_be.stepTimes());
    const std::vector<TimeNs> bubbles_before = bubbles(before, was);
    const std::vector<TimeNs> bubbles_after = bubbles(after, would_be);
    for (std::size_t r = 0; r < bubbles_before.size(); ++r)
        prediction.ranks.push_back({Rank{r}, bubbles_before[r], bubbles_after[r]});
    return prediction;
}

/// If only times change: on the graph of the model's steps.
Result<Prediction> predictTimes(const RunModel& run, const Scenario& scenario) {
    const RunModel& then = scenario.asPlanned() && run.planned ? *run.planned : run;
    BUBBLESCOPE_ASSIGN(const std::vector<TimeNs> changed, changedDurations(then, scenario.times));
    Prediction prediction = compare(run, run.timed.durations, then, changed);
    // Unexplained time is not on the graph: it stays unchanged, or disappears.
    const auto unexplained = static_cast<double>((prediction.fit.observed - prediction.before).count());
    prediction.after += TimeNs{std::llround((scenario.unknownLeft() - 1) * unexplained)};
    return prediction;
}

} // namespace

Status checkError(const RunModel& run, std::optional<double> most) {
    if (!most || run.check.error() <= *most) return {};
    return inputError(
        run.where,
        fmt::format(
            "no prediction: the replay differs from the measured steps by {:.1f} %, more than the limit of {:g} %",
            100 * run.check.error(), 100 * *most),
        fmt::format("skip unusual steps by selecting the others with {}, or accept a larger error with {}",
                    Field("step"), Field("max_error")));
}

TimeNs Prediction::change() const {
    return ofTypicalStep(*this, after - before);
}

Result<Prediction> predict(const RunModel& run, const Schedule& order, const Scenario& scenario, const ModelCut& cut,
                           std::optional<double> most_error) {
    BUBBLESCOPE_TRY(checkError(run, most_error));
    // Causes are parts of the times on the accounting's graph.
    if (run.accounted && scenario.ofCauses()) return predict(*run.accounted, order, scenario, cut);
    if (!scenario.pipeline.any()) {
        BUBBLESCOPE_ASSIGN(Prediction prediction, predictTimes(run.typical ? *run.typical : run, scenario));
        if (run.typical) {
            BUBBLESCOPE_ASSIGN(const Prediction of_all, predictTimes(run, scenario));
            prediction.bar.spread = of_all.bar.spread;
        }
        finish(prediction, run, TimeNs{0});
        return prediction;
    }
    BUBBLESCOPE_ASSIGN(const std::vector<TimeNs> changed, changedDurations(run, scenario.times));
    BUBBLESCOPE_ASSIGN(const Rescheduled before, reschedule(run, run.timed.durations, order, {}, cut));
    BUBBLESCOPE_ASSIGN(Rescheduled after, reschedule(run, changed, order, scenario.pipeline, cut));
    Prediction prediction =
        compare(before.model, before.model.timed.durations, after.model, after.model.timed.durations);
    if (scenario.pipeline.queues.any()) {
        BUBBLESCOPE_ASSIGN(prediction.queues, queueEffect(run, order, after.schedule, scenario.pipeline, cut));
        prediction.after += prediction.queues->change();
    }
    prediction.schedule = std::move(after.schedule);
    prediction.microbatches_after /= scenario.pipeline.split; // the parts of a micro-batch count as one micro-batch
    prediction.gap = meanGap(run);
    prediction.gaps_added = betweenOps(after.model) - betweenOps(before.model);
    const double ops = opCount(after.model) / std::max(1.0, opCount(before.model));
    // Other unknown time is assumed to lie between ops, too.
    const TimeNs unknown = std::max(TimeNs{0}, prediction.fit.observed - prediction.before);
    const TimeNs added{std::llround((ops - 1) * static_cast<double>(unknown.count()))};
    prediction.gaps_added += added;
    prediction.after += added;
    // The fixed cost of ops that are cut smaller is assumed (reschedule.h).
    const bool smaller = after.model.vpp > run.vpp || scenario.pipeline.split > 1;
    prediction.bar.gaps = std::max(prediction.gaps_added, -prediction.gaps_added) * (smaller ? 2 : 1);
    const auto off = static_cast<double>(meanOff(run, before.model).count());
    finish(prediction, run, TimeNs{std::llround(std::max(1.0, ops) * off)});
    return prediction;
}

} // namespace bubblescope
