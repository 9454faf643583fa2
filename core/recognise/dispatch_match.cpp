#include "core/recognise/dispatch_match.h"

#include "core/graph/validate.h"
#include "core/recognise/match_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr double kEnoughExplained = 0.98;
constexpr double kEnoughOfMoved = 0.95;
constexpr std::size_t kEnoughSteps = 3;
constexpr std::size_t kMostOps = 100'000; ///< of a step
/// An input that arrives shortly before a rank's choice may have been too late for it. The limit is this fraction of
/// the previous op.
constexpr std::int64_t kUnsureShare = 20;

using Executed = std::vector<std::vector<std::pair<OpIndex, const TimelineOp*>>>;

/// One step, with its ops numbered as in a hint.
class StepChoices {
public:
    StepChoices(const Schedule& hint, const OpGraph& graph, const StepTimeline& step)
        : hint_(hint), graph_(graph), executed_(step.ranks.size()),
          end_(static_cast<std::size_t>(graph.size()), TimeNs::max()) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                const OpIndex index = indexOf(Rank{static_cast<int>(r)}, op.op);
                complete_ = complete_ && index >= 0;
                if (index < 0) continue;
                executed_[r].emplace_back(index, &op);
                end_[static_cast<std::size_t>(index)] = op.end;
            }
            for (const CommSpan& span : step.comm[r]) {
                if (span.kind == CommKind::Receive)
                    received_[{span.payload, span.microbatch, span.stage, span.sequence}] = span.end;
            }
        }
    }

    /// False if the hint does not have all of the step's ops.
    [[nodiscard]] bool complete() const { return complete_; }

    /// Counts the choices of a rule. O(n log n).
    void count(DispatchRule rule, int limit, DispatchMatch& into) const {
        for (std::size_t r = 0; r < executed_.size(); ++r)
            countRank(Rank{static_cast<int>(r)}, rule, limit, into);
    }

private:
    [[nodiscard]] OpIndex indexOf(Rank rank, const Op& op) const {
        if (!graph_.inRange(op)) return kMissingOp;
        const OpIndex found = graph_.find(op.kind, op.microbatch, hint_.stageOf(rank, op.chunk), op.sequence);
        return found >= 0 && graph_.op(found).kind == op.kind ? found : kMissingOp;
    }

    [[nodiscard]] TimeNs arrivalOf(OpIndex op) const {
        const Op& what = graph_.op(op);
        const auto found = received_.find({payloadOf(what.kind), what.microbatch, graph_.stage(op), what.sequence});
        return found != received_.end() ? found->second : end_[static_cast<std::size_t>(graph_.producers(op).stage)];
    }

    void countRank(Rank rank, DispatchRule rule, int limit, DispatchMatch& into) const {
        RankDispatch dispatch(graph_, rank, rule, limit);
        const OpIndex first = graph_.firstOf(rank);
        std::vector<std::pair<TimeNs, OpIndex>> arrivals;
        for (const auto& [op, times] : executed_[rank.index()]) {
            if (graph_.producers(op).stage >= 0) arrivals.emplace_back(arrivalOf(op), op);
        }
        std::ranges::sort(arrivals);
        std::vector<char> passed(graph_.opsOf(rank).size(), 0);
        const auto pass = [&](OpIndex op) {
            const auto index = static_cast<std::size_t>(op - first);
            if (std::exchange(passed[index], char{1}) == 0) dispatch.arrived(index);
        };
        auto next = arrivals.begin();
        for (std::size_t i = 0; i < executed_[rank.index()].size(); ++i) {
            const auto& [op, times] = executed_[rank.index()][i];
            const OpIndex partner = graph_.partner(op);
            if (partner != kNoOp && partner < op) continue; // runs with its first half
            const TimeNs before = i == 0 ? TimeNs{0} : executed_[rank.index()][i - 1].second->duration();
            for (; next != arrivals.end() && next->first + before / kUnsureShare <= times->start; ++next)
                pass(next->second);
            if (graph_.producers(op).stage >= 0) pass(op);
            if (partner != kNoOp && graph_.producers(partner).stage >= 0) pass(partner);
            const auto chosen = static_cast<std::size_t>(op - first);
            ++into.choices;
            const bool explained = dispatch.next() == chosen;
            const bool moved = dispatch.first() != chosen;
            into.explained += explained ? 1 : 0;
            into.moved += moved ? 1 : 0;
            into.moved_explained += explained && moved ? 1 : 0;
            dispatch.run(chosen);
        }
    }

    const Schedule& hint_;
    const OpGraph& graph_;
    Executed executed_;
    std::vector<TimeNs> end_; ///< of each op
    std::map<std::tuple<Payload, Microbatch, Stage, std::int16_t>, TimeNs> received_;
    bool complete_ = true;
};

/// Evaluates every rule for one hint and returns the best match.
std::optional<DispatchMatch> matchHint(std::span<const StepTimeline> steps, const Schedule& observed, Schedule hint) {
    const OpGraph graph(hint);
    std::vector<StepChoices> choices;
    for (const StepTimeline& step : steps) {
        choices.emplace_back(hint, graph, step);
        if (!choices.back().complete()) return std::nullopt;
    }
    const int limit = std::max(std::ranges::max(peakActivations(hint)), std::ranges::max(peakActivations(observed)));
    std::optional<DispatchMatch> best;
    for (const DispatchRule rule : {DispatchRule::Ready, DispatchRule::Backward, DispatchRule::Oldest}) {
        DispatchMatch match{.rule = rule, .hint = {}};
        for (const StepChoices& step : choices)
            step.count(rule, limit, match);
        if (!best || match.explained > best->explained) best = match;
    }
    if (best) best->hint = std::move(hint);
    return best;
}

/// The number of ops without the optimizer's.
std::size_t pipelineOps(const Schedule& observed) {
    std::size_t ops = 0;
    for (const auto& list : observed.ranks)
        ops += static_cast<std::size_t>(
            std::ranges::count_if(list, [](const Op& op) { return op.kind != OpKind::Optimizer; }));
    return ops;
}

} // namespace

std::optional<DispatchMatch> matchDispatch(std::span<const StepTimeline> steps) {
    steps = steps.first(std::min(steps.size(), kEnoughSteps));
    if (steps.size() < 2 || steps.front().opCount() > kMostOps) return std::nullopt;
    const Schedule observed = executedOrder(steps.front());
    const auto same = [&](const StepTimeline& step) { return executedOrder(step).ranks == observed.ranks; };
    if (std::ranges::all_of(steps, same)) return std::nullopt;
    std::optional<DispatchMatch> best;
    for (const ScheduleSpec& spec : specsLike(observed)) {
        Result<Schedule> made = makeSchedule(spec);
        if (!made.ok() || made.value().opCount() != pipelineOps(observed)) continue;
        std::optional<DispatchMatch> match = matchHint(steps, observed, std::move(made).value());
        if (!match || match->moved == 0) continue;
        const auto rank = [](const DispatchMatch& of) { return std::pair(of.explained, -of.moved); };
        if (!best || rank(*match) > rank(*best)) best = std::move(match);
    }
    const auto enough = [](const DispatchMatch& of) {
        return static_cast<double>(of.explained) >= kEnoughExplained * static_cast<double>(of.choices) &&
               static_cast<double>(of.moved_explained) >= kEnoughOfMoved * static_cast<double>(of.moved);
    };
    return best && enough(*best) ? best : std::nullopt;
}

void explainDispatch(Run& run) {
    if (!run.departure || run.explanation.source == "given") return;
    if (!std::ranges::all_of(run.steps, &StepTimeline::hasOps)) return;
    std::optional<DispatchMatch> match = matchDispatch(run.steps);
    if (!match) return;
    run.explanation.confidence = static_cast<double>(match->explained) / static_cast<double>(match->choices);
    run.explanation.evidence.push_back(fmt::format("dispatched by readiness (rule '{}'), hint {}: this explains {} of "
                                                   "{} choices, {} of which deviate from the hint",
                                                   dispatchRuleName(match->rule), orderName(match->hint),
                                                   match->explained, match->choices, match->moved));
    run.departure.reset();
    run.closest = orderName(match->hint);
    run.closest_order = std::move(match->hint);
}

} // namespace bubblescope
