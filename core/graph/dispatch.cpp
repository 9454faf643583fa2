#include "core/graph/dispatch.h"

#include "core/base/field.h"
#include "core/graph/cost_table.h"
#include "core/graph/validate.h"
#include "core/schedule/weight_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 4> kRuleNames{"list", "ready", "backward", "oldest"};

/// A step in which each rank chooses its ops.
class DispatchedStep {
public:
    DispatchedStep(const Schedule& hint, const CostModel& costs, const OpGraph& graph, DispatchRule rule, int limit)
        : graph_(graph), table_(hint, costs), blocks_sender_(costs.transfers.on_compute_stream),
          stream_free_(table_.streamCount()) {
        for (int r = 0; r < hint.pp; ++r) {
            ranks_.emplace_back(graph, Rank{r}, rule, limit);
            orders_.emplace_back().reserve(hint.ranks[Rank{r}.index()].size());
            push({TimeNs{0}, Rank{r}, kNoOp});
        }
        busy_.assign(ranks_.size(), true);
    }

    /// False if the lists deadlock.
    bool run() {
        std::vector<Rank> woken;
        while (!events_.empty()) {
            const TimeNs now = events_.top().time;
            woken.clear();
            for (; !events_.empty() && events_.top().time == now; events_.pop())
                woken.push_back(take(events_.top()));
            for (const Rank rank : woken)
                start(rank, now);
        }
        return std::ranges::all_of(ranks_, &RankDispatch::done);
    }

    [[nodiscard]] std::vector<std::vector<Op>> takeOrders() { return std::move(orders_); }

private:
    /// An input of `op` arrives, or, if that is kNoOp, the rank becomes free.
    struct Event {
        TimeNs time{0};
        Rank rank;
        OpIndex op = kNoOp;
        friend bool operator>(const Event& a, const Event& b) {
            return std::tie(a.time, a.rank, a.op) > std::tie(b.time, b.rank, b.op);
        }
    };

    void push(Event event) { events_.push(event); }

    Rank take(const Event& event) {
        if (event.op == kNoOp) {
            busy_[event.rank.index()] = false;
        } else {
            ranks_[event.rank.index()].arrived(static_cast<std::size_t>(event.op - graph_.firstOf(event.rank)));
        }
        return event.rank;
    }

    void start(Rank rank, TimeNs now) {
        if (busy_[rank.index()]) return;
        const std::optional<std::size_t> next = ranks_[rank.index()].next();
        if (!next) return;
        ranks_[rank.index()].run(*next);
        busy_[rank.index()] = true;
        const OpIndex op = graph_.firstOf(rank) + static_cast<OpIndex>(*next);
        const OpIndex partner = graph_.partner(op);
        const TimeNs end = now + table_.unit(graph_, op, partner);
        orders_[rank.index()].push_back(graph_.op(op));
        TimeNs free = std::max(end, send(op, rank, end));
        if (partner != kNoOp) {
            orders_[rank.index()].push_back(graph_.op(partner));
            free = std::max(free, send(partner, rank, end));
        }
        for (const auto& [stream, until] : occupied_)
            stream_free_[stream] = std::max(stream_free_[stream], until);
        occupied_.clear();
        push({blocks_sender_ ? free : end, rank, kNoOp});
    }

    /// Returns the end of the transfer.
    TimeNs send(OpIndex op, Rank rank, TimeNs ready) {
        const OpIndex consumer = graph_.consumer(op);
        Transfer transfer;
        TimeNs end = ready;
        if (table_.leaves(graph_, op, transfer)) {
            const int stream = table_.stream(rank, transfer);
            if (stream >= 0) end = std::max(end, stream_free_[static_cast<std::size_t>(stream)]);
            end += table_.transfer(rank, transfer);
            // The transfers of a pair start together.
            if (stream >= 0) occupied_.emplace_back(static_cast<std::size_t>(stream), end);
        }
        if (consumer != kNoOp) push({end, graph_.rank(consumer), consumer});
        return end;
    }

    const OpGraph& graph_;
    CostTable table_;
    bool blocks_sender_;
    std::vector<RankDispatch> ranks_;
    std::vector<char> busy_;
    std::vector<TimeNs> stream_free_;
    std::vector<std::pair<std::size_t, TimeNs>> occupied_;
    std::vector<std::vector<Op>> orders_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

} // namespace

std::string_view dispatchRuleName(DispatchRule rule) {
    return kRuleNames[static_cast<std::size_t>(rule)];
}

std::optional<DispatchRule> dispatchRuleFromName(std::string_view name) {
    const auto* const found = std::ranges::find(kRuleNames, name);
    if (found == kRuleNames.end()) return std::nullopt;
    return static_cast<DispatchRule>(found - kRuleNames.begin());
}

Result<int> inFlightLimit(const Schedule& hint, const DispatchPolicy& policy) {
    const std::vector<int> peaks = peakActivations(hint);
    const int most = peaks.empty() ? 0 : std::ranges::max(peaks);
    if (policy.in_flight.value_or(most) < most) {
        return usageError(fmt::format("the order itself holds up to {} activations per rank, more than the limit of {}",
                                      most, *policy.in_flight),
                          "raise the limit, or choose an order that holds fewer activations");
    }
    return policy.in_flight.value_or(most);
}

RankDispatch::RankDispatch(const OpGraph& graph, Rank rank, DispatchRule rule, int in_flight)
    : graph_(graph), rank_(rank), rule_(rule), limit_(in_flight), units_(graph.opsOf(rank).size()) {
    const OpIndex first = graph.firstOf(rank);
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const OpIndex op = first + static_cast<OpIndex>(i);
        const std::size_t unit = unitOf(op);
        Unit& of = units_[unit];
        of.gone = false;
        const OpKind kind = graph.op(op).kind;
        of.fence = kind == OpKind::Optimizer;
        if (kind == OpKind::Forward) of.peak = std::max(of.peak, ++of.change);
        if (kind == OpKind::Backward || kind == OpKind::BackwardWeight) --of.change;
        const Producers& from = graph.producers(op);
        if (from.stage != kNoOp) ++of.inputs;
        addNeed(from.own, unit);
        if (graph.sequenceSlices() == 1) continue;
        const Op& slice = graph.op(op);
        const int before = kind == OpKind::Forward ? slice.sequence - 1 : slice.sequence + 1;
        const bool ordered = kind == OpKind::Forward || producesInputGradient(kind);
        if (ordered && before >= 0 && before < graph.sequenceSlices())
            addNeed(graph.find(kind == OpKind::Forward ? kind : OpKind::Backward, slice.microbatch, graph.stage(op),
                               before),
                    unit);
    }
    first_ = firstFrom(0, false);
    fence_ = firstFrom(0, true);
    for (std::size_t i = 0; i < units_.size(); ++i)
        queueIfReady(i);
}

std::size_t RankDispatch::unitOf(OpIndex op) const {
    const OpIndex partner = graph_.partner(op);
    const OpIndex unit = partner == kNoOp ? op : std::min(op, partner);
    return static_cast<std::size_t>(unit - graph_.firstOf(rank_));
}

void RankDispatch::addNeed(OpIndex needed, std::size_t index) {
    if (needed < 0 || unitOf(needed) == index) return;
    units_[unitOf(needed)].unlocks.push_back(index);
    ++units_[index].needs;
}

std::size_t RankDispatch::firstFrom(std::size_t index, bool fence) const {
    while (index < units_.size() && (units_[index].gone || (fence && !units_[index].fence)))
        ++index;
    return index;
}

RankDispatch::Key RankDispatch::keyOf(std::size_t index) const {
    const Op& op = graph_.opsOf(rank_)[index];
    switch (rule_) {
    case DispatchRule::Oldest: return {op.microbatch.value, index};
    case DispatchRule::Backward:
        return {producesInputGradient(op.kind) ? 0 : op.kind == OpKind::BackwardWeight ? 2 : 1, index};
    case DispatchRule::List:
    case DispatchRule::Ready: break;
    }
    return {0, index};
}

void RankDispatch::queueIfReady(std::size_t index) {
    const Unit& unit = units_[index];
    if (unit.gone || unit.inputs > 0 || unit.needs > 0) return;
    (unit.peak > 0 ? growing_ : others_).insert(keyOf(index));
}

void RankDispatch::arrived(std::size_t index) {
    const std::size_t unit = unitOf(graph_.firstOf(rank_) + static_cast<OpIndex>(index));
    --units_[unit].inputs;
    queueIfReady(unit);
}

bool RankDispatch::fits(std::size_t index) const {
    if (units_[index].peak <= 0 || index == first_) return true;
    if (held_ + units_[index].peak > limit_) return false;
    int held = held_ + units_[index].change;
    for (std::size_t i = first_; i < index; ++i) {
        if (units_[i].gone) continue;
        if (held + units_[i].peak > limit_) return false;
        held += units_[i].change;
    }
    return true;
}

std::optional<std::size_t> RankDispatch::next() const {
    if (done()) return std::nullopt;
    if (rule_ == DispatchRule::List) {
        const Unit& unit = units_[first_];
        return unit.inputs == 0 && unit.needs == 0 ? std::optional(first_) : std::nullopt;
    }
    const auto other = std::ranges::find_if(others_, [this](const Key& key) { return beforeFence(key.second); });
    // If a forward does not fit, no later forward in the list fits.
    std::size_t too_far = units_.size();
    for (const Key& key : growing_) {
        if (other != others_.end() && *other < key) break;
        if (key.second >= too_far || !beforeFence(key.second)) continue;
        if (fits(key.second)) return key.second;
        too_far = key.second;
        if (rule_ != DispatchRule::Oldest) break;
    }
    if (other == others_.end()) return std::nullopt;
    return other->second;
}

void RankDispatch::run(std::size_t index) {
    Unit& unit = units_[index];
    growing_.erase(keyOf(index));
    others_.erase(keyOf(index));
    unit.gone = true;
    held_ += unit.change;
    for (const std::size_t unlocked : unit.unlocks) {
        --units_[unlocked].needs;
        queueIfReady(unlocked);
    }
    first_ = firstFrom(first_, false);
    fence_ = firstFrom(fence_, true);
}

std::vector<std::size_t> RankDispatch::awaited() const {
    std::vector<std::size_t> indices;
    bool full = false;
    for (std::size_t i = first_; i < units_.size() && beforeFence(i); ++i) {
        const Unit& unit = units_[i];
        if (unit.gone || unit.needs > 0 || unit.inputs == 0 || (full && unit.peak > 0)) continue;
        if (!fits(i)) {
            full = true;
            continue;
        }
        indices.push_back(i);
        if (rule_ == DispatchRule::List) break;
    }
    return indices;
}

Result<Schedule> dispatched(const Schedule& hint, const CostModel& costs, const DispatchPolicy& policy) {
    if (costs.transfers.sends != SendMode::Asynchronous)
        return usageError("ops are dispatched in a fixed order here, because blocking sends wait for their receives",
                          fmt::format("specify {}", Field("sends").is("async")));
    if (updatesWithinStep(hint))
        return usageError("orders that update weights within a step cannot be dispatched",
                          "use an order that flushes the pipeline, such as 1f1b");
    BUBBLESCOPE_ASSIGN(const OpGraph graph, completeGraph(hint));
    BUBBLESCOPE_ASSIGN(const int limit, inFlightLimit(hint, policy));
    DispatchedStep step(hint, costs, graph, policy.rule, limit);
    if (!step.run()) return whyNotExecutable(hint, SendMode::Asynchronous);
    Schedule order = hint;
    order.ranks = step.takeOrders();
    if (order.ranks == hint.ranks) return order;
    order.name = "custom";
    order.flavor.clear();
    return order;
}

} // namespace bubblescope
