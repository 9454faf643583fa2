#include "core/analysis/step_diagnosis.h"

#include "core/analysis/accounting/accounting.h"
#include "core/analysis/step_pieces.h"
#include "core/base/large_list.h"
#include "core/base/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

std::shared_ptr<const std::vector<UnitPlace>> placesOf(const StepGraph& graph) {
    auto places = std::make_shared<std::vector<UnitPlace>>();
    reserveLarge(*places, graph.rank.size());
    for (std::size_t unit = 0; unit < graph.rank.size(); ++unit)
        places->emplace_back(Rank{graph.rank[unit]}, graph.op[unit], graph.pair[unit] != 0);
    return places;
}

} // namespace

/// A step and what is derived from it before the diagnosis; steps of its order share most of it.
struct StepDiagnoser::Ordered {
    ObservedStep observed;
    StepReplay replay;
    PlannedReplay planned;
    UnitTimes usual;
    std::shared_ptr<const std::vector<UnitPlace>> places;

    Ordered(const StepTimeline& step, const StepKnowledge& known, const UsualTimes& usual_times, const Schedule& plan,
            std::shared_ptr<const ExecutedUnits> ran)
        : observed(step, known, std::move(ran)), replay(observed.graph), planned(step, observed.graph, &plan),
          usual(usual_times, step, observed.graph), places(placesOf(observed.graph)) {}

    void assign(const StepTimeline& step, const StepKnowledge& known, const UsualTimes& usual_times,
                const Schedule& plan, std::shared_ptr<const ExecutedUnits> ran) {
        if (observed.assign(step, known, std::move(ran))) {
            usual.assign(usual_times, step, observed.graph);
            return;
        }
        replay = StepReplay(observed.graph);
        planned = PlannedReplay(step, observed.graph, &plan);
        usual = UnitTimes(usual_times, step, observed.graph);
        places = placesOf(observed.graph);
    }

    [[nodiscard]] StepAccounting account(const StepTimeline& step) const {
        return accountStep(step, observed, replay, planned, usual);
    }
};

std::string unitName(const StepTimeline& step, const UnitPlace& place) {
    const TimelineOp* const op = &place.in(step);
    return place.pair() ? opName(op[0].op) + "+" + opName(op[1].op) : opName(op->op);
}

namespace {

/// If a step took at most the planned time, no rank caused a delay: ops started late only within their slack, for
/// example because of checks in bubbles. All waits are then attributed to the schedule.
void acquitIfAsPlanned(const StepTimeline& step, TimeNs clock_error, StepDiagnosis& diagnosis) {
    const TimeNs rounding = step.wall() / 1000;
    if (step.wall() > diagnosis.accounting.ideal + clock_error + rounding) return;
    StepAttribution& blame = diagnosis.attribution;
    blame.ranking.clear();
    blame.usual += blame.attributed + blame.unexplained;
    blame.attributed = TimeNs{0};
    blame.unexplained = TimeNs{0};
    blame.bubbles.acquit();
}

/// Lets steps of one order share the places of their units.
void sharePlaces(std::vector<StepDiagnosis>& diagnoses) {
    for (std::size_t s = 1; s < diagnoses.size(); ++s) {
        auto& units = diagnoses[s].units;
        const auto& before = diagnoses[s - 1].units;
        if (units != before && *units == *before) units = before;
    }
}

} // namespace

StepStandards StepStandards::of(const Run& run, const StepSelection& selection, TimeNs clock_error) {
    StepStandards standards;
    // Most of the time to build a plan of many ops is spent on allocating memory.
    parallelCalls(
        run.schedule.opCount(), [&] { standards.usual = UsualTimes(run.steps, selection); },
        [&] { standards.plan = plannedOrder(run); });
    standards.known = knownOfSteps(run, clock_error);
    return standards;
}

StepStandards StepStandards::of(const Run& run, std::span<const StepSamples> samples, const StepSelection& selection,
                                TimeNs clock_error) {
    return {UsualTimes(run.steps, samples, selection), plannedOrder(run), knownOfSteps(run, clock_error)};
}

StepDiagnoser::StepDiagnoser(const StepStandards& standards) : standards_(standards) {}
StepDiagnoser::~StepDiagnoser() = default;
StepDiagnoser::StepDiagnoser(StepDiagnoser&&) noexcept = default;

StepDiagnoser::Ordered& StepDiagnoser::take(const StepTimeline& step, const StepReplays& replays,
                                            std::shared_ptr<const ExecutedUnits> ran) {
    const StepKnowledge known{standards_.known.clock_error, standards_.known.records_lost, replays};
    if (latest_ != nullptr)
        latest_->assign(step, known, standards_.usual, standards_.plan, std::move(ran));
    else
        latest_ = std::make_unique<Ordered>(step, known, standards_.usual, standards_.plan, std::move(ran));
    return *latest_;
}

StepAccounting StepDiagnoser::account(const StepTimeline& step, const StepReplays& replays,
                                      std::shared_ptr<const ExecutedUnits> ran) {
    return take(step, replays, std::move(ran)).account(step);
}

StepDiagnosis StepDiagnoser::diagnose(const StepTimeline& step, const StepReplays& replays,
                                      std::shared_ptr<const ExecutedUnits> ran) {
    Ordered& made = take(step, replays, std::move(ran));
    StepDiagnosis diagnosis;
    diagnosis.units = made.places;
    const auto attribute = [&] {
        diagnosis.attribution = attributeWaits(step, made.observed, made.replay, made.usual);
    };
    const auto account = [&] {
        diagnosis.accounting = made.account(step);
        diagnosis.path = criticalPath(made.observed.graph, made.observed.latest, made.observed.delays);
    };
    parallelCalls(made.places->size(), attribute, account);
    acquitIfAsPlanned(step, standards_.known.clock_error, diagnosis);
    return diagnosis;
}

StepDiagnoses::StepDiagnoses(const Run& run, const StepSelection& selection, TimeNs clock_error)
    : StepDiagnoses(run, std::make_shared<const StepStandards>(StepStandards::of(run, selection, clock_error))) {}

StepDiagnoses::StepDiagnoses(const Run& run, std::shared_ptr<const StepStandards> standards)
    : run_(run), standards_(std::move(standards)), replays_(replaysOf(run.checks, run.steps)) {}

std::vector<StepDiagnosis> StepDiagnoses::of(std::size_t begin, std::size_t end) const {
    const std::span steps = std::span(run_.steps).subspan(begin, end - begin);
    std::vector<StepDiagnosis> result(steps.size());
    const std::size_t pieces = stepPieces(steps);
    parallelFor(pieces, [&](std::size_t piece) {
        StepDiagnoser diagnoser(*standards_);
        const std::size_t behind = firstOfPiece(piece + 1, pieces, steps.size());
        for (std::size_t s = firstOfPiece(piece, pieces, steps.size()); s < behind; ++s)
            result[s] = diagnoser.diagnose(steps[s], replays_.empty() ? StepReplays{} : replays_[begin + s]);
    });
    sharePlaces(result);
    return result;
}

StepDiagnosis StepDiagnoses::of(std::size_t step) const {
    return StepDiagnoser(*standards_).diagnose(run_.steps[step], replays_.empty() ? StepReplays{} : replays_[step]);
}

std::vector<TimeNs> communicationCosts(const std::vector<StepAccounting>& accounts) {
    std::vector<TimeNs> costs;
    for (const StepAccounting& account : accounts) {
        const auto found = std::ranges::find(account.waterfall, Cause::Communication, &WaterfallStep::cause);
        costs.push_back(found == account.waterfall.end() ? TimeNs{0} : found->without);
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
    case RootCauseKind::SlowRank: return fmt::format("rank {}: slow ops", root_cause.rank.value);
    }
    return {};
}

} // namespace bubblescope
