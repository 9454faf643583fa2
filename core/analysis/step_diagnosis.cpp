#include "core/analysis/step_diagnosis.h"

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/step_pieces.h"
#include "core/parallel/parallel.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

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

/// One step may keep several cores busy.
void diagnoseStep(const StepTimeline& step, const OrderedSteps& made, TimeNs clock_error, StepDiagnosis& diagnosis) {
    diagnosis.units = made.places;
    const auto attribute = [&] {
        diagnosis.attribution = attributeWaits(step, made.observed, made.replay, made.usual);
    };
    const auto account = [&] {
        diagnosis.accounting = accountStep(step, made.observed, made.replay, made.planned, made.usual);
        diagnosis.path = criticalPath(made.observed.graph, made.observed.latest, made.observed.delays);
    };
    if (made.places->size() > kParallelItems) {
        parallelCalls(attribute, account);
    } else {
        attribute();
        account();
    }
    acquitIfAsPlanned(step, clock_error, diagnosis);
}

/// Steps of one order share what their units mean.
void sharePlaces(std::vector<StepDiagnosis>& diagnoses) {
    for (std::size_t s = 1; s < diagnoses.size(); ++s) {
        auto& units = diagnoses[s].units;
        const auto& before = diagnoses[s - 1].units;
        if (units != before && *units == *before) units = before;
    }
}

} // namespace

std::vector<StepDiagnosis> diagnoseSteps(const Run& run, const StepSelection& selection, TimeNs clock_error,
                                         std::size_t from) {
    if (from >= run.steps.size()) return {};
    const UsualTimes usual_times(run.steps, selection);
    const Schedule& plan = plannedOrder(run);
    const StepKnowledge known = knownOfSteps(run, clock_error);
    const std::span steps = std::span(run.steps).subspan(from);
    const auto knownOf = [&, replays = replaysOf(run.checks, steps)](std::size_t s) {
        return replays.empty() ? known : StepKnowledge{known.clock_error, known.records_lost, replays[s]};
    };
    std::vector<StepDiagnosis> result(steps.size());
    const std::size_t pieces = stepPieces(steps);
    parallelFor(pieces, [&](std::size_t piece) {
        std::optional<OrderedSteps> shared;
        const std::size_t end = firstOfPiece(piece + 1, pieces, steps.size());
        for (std::size_t s = firstOfPiece(piece, pieces, steps.size()); s < end; ++s) {
            if (shared) {
                shared->assign(steps[s], knownOf(s), usual_times, plan);
            } else {
                shared.emplace(steps[s], knownOf(s), usual_times, plan);
            }
            diagnoseStep(steps[s], *shared, clock_error, result[s]);
        }
    });
    sharePlaces(result);
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
