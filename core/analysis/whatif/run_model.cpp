#include "core/analysis/whatif/run_model.h"

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/whatif/timeline_graph.h"
#include "core/recognise/match_schedule.h"
#include "core/schedule/schedule.h"
#include "core/timeline/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {

void HostGaps::add(const StepGraph& graph, const StepKnowledge& known) {
    if (known.records_lost) return;
    for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
        if (graph.latest[unit] == Latest::Begin || graph.kind[unit] == OpKind::Optimizer) continue;
        const TimeNs delay = graph.delay[unit];
        const TimeNs gap = delay > known.clock_error ? TimeNs{0} : std::max(TimeNs{0}, delay);
        for (const RunOp kind : {runOp(graph.kind[unit]), RunOp::Pair}) {
            Sum& sum = sums_[{graph.rank[unit], kind}];
            sum.time += gap;
            ++sum.count;
        }
    }
}

TimeNs HostGaps::of(Rank rank, RunOp kind) const {
    const auto* const sum = findByKind(kind, [&](RunOp wanted) -> const Sum* {
        const auto found = sums_.find({rank.value, wanted});
        return found == sums_.end() ? nullptr : &found->second;
    });
    return sum == nullptr ? TimeNs{0} : sum->time / sum->count;
}

TimeNs HostGaps::mean() const {
    Sum all;
    for (const auto& [place, sum] : sums_) {
        if (place.second != RunOp::Pair) continue;
        all.time += sum.time;
        all.count += sum.count;
    }
    return all.count == 0 ? TimeNs{0} : all.time / all.count;
}

TimeNs RunModel::observed() const {
    TimeNs sum{0};
    for (const RunStep& step : steps)
        sum += step.observed;
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

namespace {

/// Models of some of a run's steps.
class ModelMaker {
public:
    ModelMaker(const Run& run, const StepSelection& selection, const UsualTimes& usual, TimeNs clock_error)
        : run_(run), usual_(usual), clock_error_(clock_error), replays_(replaysOf(run.checks, run.steps)) {
        if (!run.files.empty()) sizes_.where = run.files.front().string();
        if (run.files.size() > 1) sizes_.where += fmt::format(" and {} more", run.files.size() - 1);
        sizes_.pp = run.schedule.pp;
        sizes_.vpp = run.schedule.vpp;
        sizes_.microbatches = run.schedule.microbatches;
        sizes_.placement = run.schedule.placement;
        sizes_.step_time = selection.stepTime();
        sizes_.selection = selection;
    }

    /// Makes the model of the steps at these indices of the run.
    [[nodiscard]] Result<RunModel> make(const std::vector<std::size_t>& places) const {
        BUBBLESCOPE_ASSIGN(RunModel accounted, makeAccounted(places));
        if (run_.annotation != kStragglerRule || run_.trace == nullptr) return accounted;
        std::vector<const StepTimeline*> timelines;
        for (const std::size_t place : places)
            timelines.push_back(&run_.steps[place]);
        BUBBLESCOPE_ASSIGN(RunModel streams, stragglerGraph(*run_.trace, timelines, sizes_));
        streams.check = accounted.check;
        streams.accounted = std::make_shared<const RunModel>(std::move(accounted));
        return streams;
    }

private:
    /// Makes their model on the accounting's graph.
    [[nodiscard]] Result<RunModel> makeAccounted(const std::vector<std::size_t>& places) const {
        std::vector<KnownStep> steps;
        for (const std::size_t place : places) {
            StepKnowledge known = knownOfSteps(run_, clock_error_);
            if (!replays_.empty()) known.replays = replays_[place];
            steps.push_back({&run_.steps[place], known});
        }
        StepReading reading{usual_, plannedOrder(run_)};
        BUBBLESCOPE_ASSIGN(RunModel model, timelineGraph(steps, reading, sizes_));
        const bool departs = std::ranges::any_of(
            steps, [&](const KnownStep& each) { return observedOrder(*each.step).ranks != reading.plan.ranks; });
        if (!departs) return model;
        reading.as_planned = true;
        BUBBLESCOPE_ASSIGN(RunModel planned, timelineGraph(steps, reading, sizes_));
        model.planned = std::make_shared<const RunModel>(std::move(planned));
        return model;
    }

    const Run& run_;
    const UsualTimes& usual_;
    TimeNs clock_error_;
    std::vector<StepReplays> replays_; ///< empty if checks took no time
    RunModel sizes_;                   ///< only names and sizes
};

/// Sets the typical step's model in the model, and in the accounting's model of the same steps.
void setTypical(RunModel& model, RunModel typical) {
    if (model.accounted) {
        RunModel accounted = *model.accounted;
        accounted.typical = typical.accounted;
        model.accounted = std::make_shared<const RunModel>(std::move(accounted));
    }
    model.typical = std::make_shared<const RunModel>(std::move(typical));
}

} // namespace

Result<RunModel> runModel(const Run& run) {
    return runModel(run, selectSteps(run.steps));
}

Result<RunModel> runModel(const Run& run, const StepSelection& selection, TimeNs clock_error) {
    // Traces do not record the messages with weights, for which ranks wait.
    BUBBLESCOPE_TRY(rejectMoving(run.schedule.placement, "a prediction from a trace"));
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (selection.takes(i)) wanted.push_back(i);
    }
    const UsualTimes usual(run.steps, selection);
    const ModelMaker maker(run, selection, usual, clock_error);
    BUBBLESCOPE_ASSIGN(RunModel model, maker.make(wanted));
    if (model.steps.size() < 2) return model;
    BUBBLESCOPE_ASSIGN(RunModel typical, maker.make(selection.typical().timelines));
    setTypical(model, std::move(typical));
    return model;
}

Result<RunModel> typicalStepModel(const Run& run, const StepSelection& selection, const UsualTimes& usual,
                                  TimeNs clock_error) {
    BUBBLESCOPE_TRY(rejectMoving(run.schedule.placement, "a prediction from a trace"));
    return ModelMaker(run, selection, usual, clock_error).make(selection.typical().timelines);
}

} // namespace bubblescope
