#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"
#include "core/base/parallel.h"
#include "core/graph/step_graph.h"
#include "core/timeline/bubbles.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace bubblescope {
namespace {

/// Idle time above the closed form, averaged over ranks; empty without a form.
std::optional<TimeNs> excessOf(const StepAnalysis& step) {
    TimeNs sum{0};
    for (const RankAccount& rank : step.ranks) {
        if (!rank.expected_bubble) return std::nullopt;
        sum += rank.bubble - *rank.expected_bubble;
    }
    if (step.ranks.empty()) return std::nullopt;
    return sum / static_cast<std::int64_t>(step.ranks.size());
}

} // namespace

void findBubblesAboveForm(const AnomalyInput& input, Anomalies& found) {
    std::vector<double> shares; // of the steps that count, each from its slowest replica
    for (const SelectedStep& selected : input.selection.steps()) {
        const auto excess = selected.taken() ? excessOf(input.analyses[selected.longest]) : std::nullopt;
        if (excess) shares.push_back(input.fraction(*excess, selected.longest));
    }
    const auto excess = excessOf(input.analyses[input.typicalStep()]);
    if (shares.empty() || !excess) return;
    const double share = statistics::median(shares);
    if (share < input.limits.bubble_excess || *excess <= input.clocks.bound()) return;
    const StepAnalysis& step = input.analyses[input.typicalStep()];
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::BubbleAboveForm;
    anomaly.severity = Severity::Warning; // a symptom, because its causes have severities of their own
    Cases cases;
    for (std::size_t s = 0; s < input.analyses.size(); ++s) {
        const auto of_step = excessOf(input.analyses[s]);
        if (of_step && input.fraction(*of_step, s) >= input.limits.bubble_excess) cases.add(s);
    }
    input.setSeen(anomaly, cases);
    anomaly.evidence = {{"excess_ns", static_cast<double>(excess->count())},
                        {"excess_share", share},
                        {"steps", static_cast<double>(shares.size())},
                        {"bubble_rate", step.rates.over_makespan},
                        {"expected_bubble_rate", step.form ? step.form->bubble_rate : 0}};
    anomaly.message =
        say("ranks idle {} ({:.1f} % of a step) longer than in the closed form at these op times (median of {}).",
            formatTime(*excess), 100 * share, sayCounted("{} step", "{} steps", shares.size()));
    const bool caused = std::ranges::any_of(found, [](const Anomaly& a) { return a.cost > TimeNs{0}; });
    anomaly.suggestion =
        caused
            ? say("The findings with a cost explain this idle time.")
            : say("The causes are unequal ops, transfers and waits: compare the stages' times and the transfer times.");
    found.push_back(std::move(anomaly));
}

namespace {

/// An idle stretch before an op whose input had arrived, in which the rank waited for another op's input.
struct Blocked {
    std::size_t step = 0;
    Op op;
    Op waited_for;
    TimeInterval when;
};

/// Linear in ops and spans, apart from sorting, if the waits of a rank rarely overlap.
class BlockedFinder {
public:
    /// `first` are the units of the first step, or null.
    explicit BlockedFinder(const ExecutedUnits* first) {
        if (first != nullptr) order_ = first->order;
    }

    /// Call it for all steps of a run in order; `index` is the step's.
    void find(const StepTimeline& step, std::size_t index, bool order_of_previous,
              std::map<Rank, std::vector<Blocked>>& into) {
        if (index > 0 && !order_of_previous) order_.reset();
        std::size_t ops = 0;
        for (const auto& of_rank : step.ranks)
            ops += of_rank.size();
        std::vector<std::uint8_t> waits(step.comm.size(), 0);
        parallelGroups(waits.size(), ops,
                       [&](std::size_t r) { waits[r] = std::ranges::any_of(step.comm[r], brings) ? 1 : 0; });
        if (std::ranges::find(waits, 1) == waits.end()) return;
        if (!order_) order_ = StepOrder(step);
        step_ = &step;
        index_ = index;
        listOps();
        std::vector<std::vector<Blocked>> blocked(waits.size());
        parallelGroups(waits.size(), ops, [&](std::size_t r) {
            if (waits[r] != 0) findOn(Rank{r}, blocked[r]);
        });
        for (std::size_t r = 0; r < blocked.size(); ++r) {
            if (!blocked[r].empty()) std::ranges::copy(blocked[r], std::back_inserter(into[Rank{r}]));
        }
    }

private:
    struct Wait {
        const CommSpan* span = nullptr;
        OpIndex consumer = kNoOp;
    };
    struct Waits {
        std::vector<Wait> waits;   ///< for what its ops need
        std::vector<TimeNs> there; ///< by op: time at which it had received its input, or stopped waiting for it
        /// True if no waits are recorded, so that `waits` are receives, sorted by end. A receive may also be pending
        /// while the rank waits for something else.
        bool are_receives = false;
    };

    static bool isWait(const CommSpan& span) { return span.kind == CommKind::Wait; }
    static bool brings(const CommSpan& span) { return isWait(span) || span.kind == CommKind::Receive; }
    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] const OpGraph& graph() const { return order_->graph(); }

    /// Lists the places of the graph's ops in the timeline, if these differ from their indices.
    void listOps() {
        ops_.clear();
        if (order_->optimizersTrail()) return;
        ops_.resize(step_->ranks.size());
        for (std::size_t r = 0; r < ops_.size(); ++r) {
            for (const TimelineOp& op : step_->ranks[r]) {
                if (op.op.kind != OpKind::Optimizer) ops_[r].push_back(&op);
            }
        }
    }
    [[nodiscard]] const TimelineOp& opAt(Rank rank, std::size_t place) const {
        return ops_.empty() ? step_->ranks[rank.index()][place] : *ops_[rank.index()][place];
    }
    [[nodiscard]] const TimelineOp& opAt(OpIndex index) const {
        const Rank rank = graph().rank(index);
        return opAt(rank, at(index - graph().firstOf(rank)));
    }

    /// End of the op of another stage that produces this op's input; min() if there is none.
    [[nodiscard]] TimeNs endOfProducer(OpIndex index) const {
        const OpIndex producer = graph().producers(index).stage;
        return producer >= 0 ? opAt(producer).end : TimeNs::min();
    }

    [[nodiscard]] Waits readSpans(Rank rank) const {
        Waits found;
        found.there.assign(graph().opsOf(rank).size(), TimeNs::min());
        const auto& spans = step_->comm[rank.index()];
        found.are_receives = std::ranges::none_of(spans, isWait);
        for (const CommSpan& span : spans) {
            const OpIndex consumer = brings(span) ? consumerOf(span, rank) : kNoOp;
            if (consumer == kNoOp) continue;
            if (found.are_receives || isWait(span)) found.waits.push_back({&span, consumer});
            TimeNs& time = found.there[at(consumer - graph().firstOf(rank))];
            time = std::max(time, span.end);
        }
        if (found.are_receives)
            std::ranges::stable_sort(found.waits, {}, [](const Wait& wait) { return wait.span->end; });
        return found;
    }

    /// The waits for inputs of later ops before the `i`-th op of a rank, after its own input had arrived; disjoint.
    /// `next`: all earlier waits ended before the gap, which begins at `idle`.
    [[nodiscard]] std::vector<Blocked> blocksOf(Rank rank, std::size_t i, TimeNs idle, const Waits& of_rank,
                                                std::size_t next) const {
        const OpIndex self = graph().firstOf(rank) + static_cast<OpIndex>(i);
        const TimelineOp& op = opAt(rank, i);
        std::vector<Blocked> blocks;
        std::optional<TimeNs> ready; ///< or the end of the latest wait
        TimeNs blocked{0};
        for (std::size_t w = next; w < of_rank.waits.size(); ++w) {
            const auto& [span, consumer] = of_rank.waits[w];
            if (of_rank.are_receives ? span->end > op.start : span->start >= op.start) break;
            if (consumer <= self) continue; // usually its own input
            if (!ready) ready = std::max(idle, endOfProducer(self));
            const TimeNs from = std::max(*ready, span->start);
            const TimeNs until = std::min(span->end, op.start);
            // Its own input must have arrived: no receive or wait for it may extend into that time.
            if (until <= from || of_rank.there[i] > from || opAt(consumer).start <= op.start) continue;
            blocks.push_back({index_, op.op, opAt(consumer).op, {from, until}});
            blocked += until - from;
            ready = until;
        }
        // An op that receives kept from starting starts when they end.
        constexpr std::int64_t kLeastTenths = 9;
        if (of_rank.are_receives && !blocks.empty() &&
            10 * blocked.count() < kLeastTenths * (op.start - blocks.front().when.start).count())
            blocks.clear();
        return blocks;
    }

    void findOn(Rank rank, std::vector<Blocked>& into) const {
        const Waits of_rank = readSpans(rank);
        const std::vector<Wait>& waits = of_rank.waits;
        if (waits.empty()) return;
        std::size_t next = 0; // all earlier waits ended before this gap
        for (std::size_t i = 1; i < of_rank.there.size(); ++i) {
            const TimeNs idle = opAt(rank, i - 1).end;
            if (opAt(rank, i).start <= idle) continue;
            while (next < waits.size() && waits[next].span->end <= idle)
                ++next;
            std::ranges::copy(blocksOf(rank, i, idle, of_rank, next), std::back_inserter(into));
        }
    }

    /// The op on this rank that a transfer feeds, kNoOp if there is none.
    [[nodiscard]] OpIndex consumerOf(const CommSpan& span, Rank rank) const {
        const OpIndex found = fedBy(span, *step_, graph());
        return found >= 0 && graph().rank(found) == rank ? found : kNoOp;
    }

    std::optional<StepOrder> order_; ///< of the latest step; none until it is needed
    const StepTimeline* step_ = nullptr;
    std::size_t index_ = 0;
    std::vector<std::vector<const TimelineOp*>>
        ops_; ///< per rank, as in the graph; empty if indices are equal in the step
};

} // namespace

void findBlockingReceives(const AnomalyInput& input, Anomalies& found) {
    std::map<Rank, std::vector<Blocked>> blocked;
    BlockedFinder finder(input.first_ran);
    for (std::size_t s = 0; s < input.run.steps.size(); ++s)
        finder.find(input.run.steps[s], s, input.analyses[s].order_of_previous, blocked);
    std::map<std::size_t, std::map<Rank, TimeNs>> time; // by step
    for (const auto& [rank, places] : blocked) {
        for (const Blocked& place : places)
            time[place.step][rank] += place.when.duration();
    }
    if (time.empty()) return;
    const auto longest = [](const std::map<Rank, TimeNs>& ranks) {
        return *std::ranges::max_element(ranks, {}, &std::pair<const Rank, TimeNs>::second);
    };
    // Ranks often have the same fault and hide each other's, so their waits are removed together.
    const std::size_t s =
        time.contains(input.typicalStep())
            ? input.typicalStep()
            : std::ranges::max_element(time, {}, [&](const auto& of) { return longest(of.second).second; })->first;
    const std::map<Rank, TimeNs>& ranks = time[s];
    const auto [most, blocked_time] = longest(ranks);
    if (!input.worthReporting(blocked_time, s)) return;
    const StepTimeline& step = input.run.steps[s];
    StepCosts costs(step, input.knownOf(s));
    const TimeNs cost = costs.savedByHosts([&](Rank rank, TimeInterval interval) {
        TimeNs sum{0};
        for (const Blocked& place : blocked[rank]) {
            if (place.step != s) continue;
            sum += std::max(TimeNs{0},
                            std::min(place.when.end, interval.end) - std::max(place.when.start, interval.start));
        }
        return sum;
    });
    if (!input.worthReporting(cost, s)) return;
    Cases cases;
    for (const auto& [of_step, _] : time)
        cases.add(of_step, cost);
    const Blocked& shown = *std::ranges::max_element(
        blocked[most], {}, [&](const Blocked& place) { return place.step == s ? place.when.duration() : TimeNs{-1}; });
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::BlockingReceive;
    anomaly.severity = input.severityOf(cost, s);
    if (ranks.size() == 1) anomaly.rank = most;
    anomaly.op = shown.op;
    anomaly.step = step.index;
    anomaly.when = shown.when;
    input.setSeen(anomaly, cases);
    anomaly.evidence = {{"blocked_ns", static_cast<double>(blocked_time.count())},
                        {"ranks", static_cast<double>(ranks.size())},
                        {"steps", static_cast<double>(time.size())}};
    anomaly.message = say("rank {} waited for the input of {} before it ran {}, whose input was ready.", most.value,
                          opName(shown.waited_for), opName(shown.op));
    anomaly.message += ranks.size() == 1 ? say(" Such waits cost {} of step {} ({:.1f} %).", formatTime(cost),
                                               step.index, 100 * input.fraction(cost, s))
                                         : say(" Such waits on {} ranks cost {} of step {} ({:.1f} %).", ranks.size(),
                                               formatTime(cost), step.index, 100 * input.fraction(cost, s));
    anomaly.suggestion = say("Post that receive later, or without blocking, and wait for it just before the op that "
                             "needs it.");
    found.push_back(std::move(anomaly));
}

} // namespace bubblescope
