#include "core/diagnose/anomalies/input.h"
#include "core/diagnose/statistics/robust.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace bubblescope {
namespace {

/// Idle time above the closed form, mean over ranks; nothing without a form.
std::optional<TimeNs> excessOf(const StepAnalysis& step) {
    TimeNs sum{0};
    for (const RankAccount& rank : step.ranks) {
        if (!rank.expected_bubble) return std::nullopt;
        sum += rank.bubble - *rank.expected_bubble;
    }
    if (step.ranks.empty()) return std::nullopt;
    return sum / static_cast<std::int64_t>(step.ranks.size());
}

void findAboveForm(const AnomalyInput& input, Anomalies& found) {
    std::vector<double> shares;
    for (std::size_t s = 0; s < input.analyses.size(); ++s) {
        const auto excess = excessOf(input.analyses[s]);
        if (excess) shares.push_back(input.share(*excess, s));
    }
    const auto excess = excessOf(input.analyses[input.typical_step]);
    if (shares.empty() || !excess) return;
    const double share = statistics::median(shares);
    if (share < input.limits.bubble_excess || *excess <= input.clocks.bound()) return;
    const StepAnalysis& step = input.analyses[input.typical_step];
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::BubbleAboveForm;
    anomaly.severity = Severity::Warning; // a symptom: its causes have severities of their own
    anomaly.evidence = {{"excess_ns", static_cast<double>(excess->count())},
                        {"excess_share", share},
                        {"steps", static_cast<double>(shares.size())},
                        {"bubble_rate", step.rates.over_makespan},
                        {"expected_bubble_rate", step.form ? step.form->bubble_rate : 0}};
    anomaly.message = fmt::format("ranks idle {} ({:.1f} % of a step) longer than the closed form allows at these op "
                                  "times, in the median of {} steps.",
                                  formatTime(*excess), 100 * share, shares.size());
    const bool caused = std::ranges::any_of(found, [](const Anomaly& a) { return a.cost > TimeNs{0}; });
    anomaly.suggestion = caused ? "The findings that name a cost are its causes."
                                : "Unequal ops, transfers and waits are its causes: compare stages and transfer times.";
    found.push_back(std::move(anomaly));
}

/// An idle stretch before an op whose input was there, in which the rank waited for another op's input.
struct Blocked {
    std::size_t step = 0;
    Op op;
    Op waited_for;
    TimeInterval when;
};

/// Where each transfer's receive ended on its rank.
using Key = std::tuple<Payload, Stage, Microbatch, std::int32_t>;

class BlockedFinder {
public:
    BlockedFinder(const StepTimeline& step, std::size_t index) : step_(step), index_(index) {}

    void find(std::map<Rank, std::vector<Blocked>>& into) {
        Schedule order = executedOrder(step_);
        const OpGraph graph(order);
        std::vector<std::vector<const TimelineOp*>> ops(step_.ranks.size());
        for (std::size_t r = 0; r < step_.ranks.size(); ++r) {
            for (const TimelineOp& op : step_.ranks[r]) {
                if (op.op.kind != OpKind::Optimizer) ops[r].push_back(&op);
            }
        }
        for (std::size_t r = 0; r < ops.size(); ++r) {
            std::vector<const CommSpan*> waits;
            for (const CommSpan& span : step_.comm[r]) {
                if (span.kind == CommKind::Wait && isMine(span, Rank{r})) waits.push_back(&span);
            }
            if (waits.empty()) continue;
            const OpIndex first = graph.firstOf(Rank{r});
            for (std::size_t i = 1; i < ops[r].size(); ++i) {
                const TimelineOp& op = *ops[r][i];
                const TimeNs idle = ops[r][i - 1]->end;
                if (op.start <= idle) continue;
                const OpIndex producer = graph.producers(first + static_cast<OpIndex>(i)).stage;
                TimeNs ready = idle;
                if (producer >= 0) {
                    const Rank from = graph.rank(producer);
                    ready = std::max(ready,
                                     ops[from.index()][static_cast<std::size_t>(producer - graph.firstOf(from))]->end);
                }
                for (const CommSpan* wait : waits)
                    judge(Rank{r}, op, *wait, std::max(ready, wait->start), into);
            }
        }
    }

private:
    [[nodiscard]] bool isMine(const CommSpan& span, Rank rank) const {
        return locate(step_.placement, step_.pp, span.stage).rank == rank;
    }
    [[nodiscard]] bool feeds(const CommSpan& span, Rank rank, const Op& op) const {
        return span.microbatch == op.microbatch && span.sequence == op.sequence &&
               span.stage == step_.stageOf(rank, op.chunk) && span.payload == payloadOf(op.kind) &&
               op.kind != OpKind::BackwardWeight;
    }
    void judge(Rank rank, const TimelineOp& op, const CommSpan& wait, TimeNs from,
               std::map<Rank, std::vector<Blocked>>& into) const {
        const TimeNs until = std::min(wait.end, op.start);
        if (until <= from || feeds(wait, rank, op.op)) return;
        // Its own input must be there: no wait for it may cover that time.
        for (const CommSpan& span : step_.comm[rank.index()]) {
            if (span.kind != CommKind::Send && feeds(span, rank, op.op) && span.end > from) return;
        }
        const auto consumer = std::ranges::find_if(step_.ranks[rank.index()], [&](const TimelineOp& other) {
            return other.op.kind != OpKind::Optimizer && feeds(wait, rank, other.op);
        });
        if (consumer == step_.ranks[rank.index()].end() || consumer->start <= op.start) return;
        into[rank].push_back({index_, op.op, consumer->op, {from, until}});
    }

    const StepTimeline& step_;
    std::size_t index_;
};

void findBlockingReceives(const AnomalyInput& input, Anomalies& found) {
    std::map<Rank, std::vector<Blocked>> blocked;
    for (std::size_t s = 0; s < input.run.steps.size(); ++s)
        BlockedFinder(input.run.steps[s], s).find(blocked);
    for (const auto& [rank, places] : blocked) {
        std::map<std::size_t, TimeNs> per_step;
        for (const Blocked& place : places)
            per_step[place.step] += place.when.end - place.when.start;
        const auto worst = std::ranges::max_element(per_step, {}, [](const auto& entry) { return entry.second; });
        if (!input.worthTelling(worst->second, worst->first)) continue;
        const Blocked& shown = *std::ranges::max_element(places, {}, [&](const Blocked& place) {
            return place.step == worst->first ? place.when.end - place.when.start : TimeNs{-1};
        });
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::BlockingReceive;
        anomaly.severity = input.severityOf(worst->second, worst->first);
        anomaly.rank = rank;
        anomaly.op = shown.op;
        anomaly.step = input.run.steps[worst->first].index;
        anomaly.when = shown.when;
        anomaly.evidence = {{"blocked_ns", static_cast<double>(worst->second.count())},
                            {"places", static_cast<double>(places.size())},
                            {"steps", static_cast<double>(per_step.size())}};
        anomaly.message = fmt::format(
            "rank {} waited for the input of {} before it ran {}, whose input was there: {} of step {} ({:.1f} %), and "
            "the like in {} of {} steps.",
            rank.value, opName(shown.waited_for), opName(shown.op), formatTime(worst->second), *anomaly.step,
            100 * input.share(worst->second, worst->first), per_step.size(), input.run.steps.size());
        anomaly.suggestion = "Post that receive later, or without blocking, and wait for it just before the op that "
                             "needs it.";
        found.push_back(std::move(anomaly));
    }
}

} // namespace

void findBubbleFaults(const AnomalyInput& input, Anomalies& found) {
    findBlockingReceives(input, found);
    findAboveForm(input, found);
}

} // namespace bubblescope
