#include "core/analysis/step_diagnosis.h"

#include "core/analysis/accounting/accounting.h"

#include <fmt/format.h>

#include <span>

namespace bubblescope {
namespace {

std::shared_ptr<const std::vector<UnitPlace>> placesOf(const StepGraph& graph) {
    auto places = std::make_shared<std::vector<UnitPlace>>(graph.rank.size());
    for (std::size_t unit = 0; unit < places->size(); ++unit)
        (*places)[unit] = {Rank{graph.rank[unit]}, graph.op[unit], graph.pair[unit]};
    return places;
}

/// A step and what is made of it before it is diagnosed, of which other steps of its order share most.
struct OrderedSteps {
    ObservedStep observed;
    StepReplay replay;
    PlannedReplay planned;
    UnitTimes usual;
    std::shared_ptr<const std::vector<UnitPlace>> places;

    OrderedSteps(const StepTimeline& step, const StepKnowledge& known, const UsualTimes& usual_times,
                 const Schedule& plan)
        : observed(step, known), replay(observed.graph), planned(step, observed.graph, &plan),
          usual(usual_times, step, observed.graph), places(placesOf(observed.graph)) {}

    void assign(const StepTimeline& step, const StepKnowledge& known, const UsualTimes& usual_times,
                const Schedule& plan) {
        if (observed.assign(step, known)) {
            usual.assign(usual_times, step, observed.graph);
            return;
        }
        replay = StepReplay(observed.graph);
        planned = PlannedReplay(step, observed.graph, &plan);
        usual = UnitTimes(usual_times, step, observed.graph);
        places = placesOf(observed.graph);
    }
};

} // namespace

std::string unitName(const StepTimeline& step, const UnitPlace& place) {
    const TimelineOp* const op = &place.in(step);
    return place.pair ? opName(op[0].op) + "+" + opName(op[1].op) : opName(op->op);
}

namespace {

/// No rank is to blame for a step that took at most the planned time: its ops began late within their slack, for
/// example because of checks in bubbles. All waits are then the schedule's.
void acquitIfAsPlanned(const StepTimeline& step, TimeNs clock_error, StepDiagnosis& diagnosis) {
    const TimeNs rounding = step.wall() / 1000;
    if (step.wall() > diagnosis.accounting.ideal + clock_error + rounding) return;
    StepAttribution& blame = diagnosis.attribution;
    blame.ranking.clear();
    blame.usual += blame.attributed + blame.unexplained;
    blame.attributed = TimeNs{0};
    blame.unexplained = TimeNs{0};
    for (AttributedBubble& bubble : blame.bubbles) {
        bubble.usual = bubble.end - bubble.start;
        bubble.cause.reset();
    }
}

} // namespace

std::vector<StepDiagnosis> diagnoseSteps(const Run& run, const StepSelection& selection, TimeNs clock_error,
                                         std::size_t from) {
    std::vector<StepDiagnosis> result;
    if (from >= run.steps.size()) return result;
    const UsualTimes usual_times(run.steps, selection);
    const Schedule& plan = plannedOrder(run);
    const StepKnowledge known = knownOfSteps(run, clock_error);
    const std::span steps = std::span(run.steps).subspan(from);
    result.reserve(steps.size());
    // The steps of a run mostly have one order, and with it all of this but their times.
    const auto knownOf = [&, replays = replaysOf(run.checks, steps)](std::size_t s) {
        return replays.empty() ? known : StepKnowledge{known.clock_error, known.records_lost, replays[s]};
    };
    OrderedSteps shared(steps.front(), knownOf(0), usual_times, plan);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const StepTimeline& step = steps[s];
        if (s > 0) shared.assign(step, knownOf(s), usual_times, plan);
        auto& [observed, replay, planned, usual, places] = shared;
        result.push_back({places, accountStep(step, observed, replay, planned, usual),
                          criticalPath(observed.graph, observed.latest, observed.delays),
                          attributeWaits(step, observed, replay, usual)});
        acquitIfAsPlanned(step, clock_error, result.back());
    }
    return result;
}

std::vector<TimeNs> communicationCosts(const std::vector<StepDiagnosis>& diagnoses) {
    std::vector<TimeNs> costs;
    for (const StepDiagnosis& diagnosis : diagnoses) {
        const auto& causes = diagnosis.accounting.waterfall;
        const auto found = std::ranges::find(causes, Cause::Communication, &WaterfallStep::cause);
        costs.push_back(found == causes.end() ? TimeNs{0} : found->without);
    }
    return costs;
}

std::string rootCauseName(const StepTimeline& step, const StepDiagnosis& diagnosis, const RootCause& root_cause) {
    switch (root_cause.kind) {
    case RootCauseKind::SlowStage:
        return fmt::format("rank {}, chunk {}: slow stage", root_cause.rank.value, root_cause.chunk->value);
    case RootCauseKind::SlowOp:
        return fmt::format("rank {}, {}: slow op", root_cause.rank.value,
                           unitName(step, diagnosis.place(*root_cause.unit)));
    case RootCauseKind::SlowLink:
        return fmt::format("rank {} to {}: slow link", root_cause.rank.value, root_cause.peer->value);
    case RootCauseKind::InTransfer: return fmt::format("rank {}: starts during transfers", root_cause.rank.value);
    case RootCauseKind::Blocked: return fmt::format("rank {}: blocked by the peer", root_cause.rank.value);
    case RootCauseKind::ReplayedWork: return fmt::format("rank {}: replayed work", root_cause.rank.value);
    case RootCauseKind::LateStart: return fmt::format("rank {}: late starts", root_cause.rank.value);
    }
    return {};
}

} // namespace bubblescope
