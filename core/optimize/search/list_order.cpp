#include "core/optimize/search/list_order.h"

#include "core/optimize/search/chain_times.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::size_t at(OpNumber op) {
    return static_cast<std::size_t>(op);
}

/// Builds one order.
class ListRun {
public:
    ListRun(const OrderProblem& problem, const ListRule& rule)
        : problem_(problem), rule_(rule), chains_(chainTimes(problem)), random_(rule.seed),
          ready_(static_cast<std::size_t>(problem.size()), kNever),
          ranks_(static_cast<std::size_t>(problem.sizes().pp)), orders_(ranks_.size()) {
        if (rule.noise > 0) {
            std::uniform_real_distribution<double> share(1 - rule.noise, 1 + rule.noise);
            for (std::int64_t& tail : chains_.tail)
                tail = static_cast<std::int64_t>(static_cast<double>(tail) * share(random_));
        }
        findReserves();
        findFlight();
    }

    RankOrders run(const JobControl& control) {
        StopCheck stop(control, 1U << 12);
        for (const OpNumber op : firstOps())
            arrive(op, 0);
        for (OpNumber done = 0; done < problem_.size(); ++done) {
            if (stop.requested()) return {};
            std::size_t best = 0;
            std::int64_t earliest = kNever;
            for (std::size_t r = 0; r < ranks_.size(); ++r) {
                if (ranks_[r].stale) ranks_[r].next = nextStart(r);
                ranks_[r].stale = false;
                if (ranks_[r].next < earliest) {
                    earliest = ranks_[r].next;
                    best = r;
                }
            }
            if (earliest == kNever) return {}; // out of memory: no op of any rank may run
            take(best, choose(best, earliest));
        }
        return std::move(orders_);
    }

private:
    struct RankState {
        std::int64_t free = 0;
        std::int64_t held = 0;
        std::int64_t next = kNever; ///< start of its next op
        bool stale = true;          ///< `next` must be searched again
        int in_flight = 0;          ///< forwards without their input gradient
        int most_in_flight = 0;
        /// Ops whose inputs have arrived or are on their way, by kind and chunk, in order of arrival.
        std::vector<std::deque<OpNumber>> forwards, gradients;
        std::deque<OpNumber> weights;
        std::vector<std::int64_t> reserve; ///< per chunk: memory that its forward must leave free
    };

    /// The ops that wait for nothing, with their micro-batches arranged by the rule.
    [[nodiscard]] std::vector<OpNumber> firstOps() {
        std::vector<OpNumber> first;
        for (OpNumber op = 0; op < problem_.size(); ++op) {
            const NeededOp& needs = problem_.op(op);
            if (needs.input == kNoNumber && needs.own == kNoNumber) first.push_back(op);
        }
        const auto way = [this](OpNumber op) { return chains_.tail[at(op)]; };
        switch (rule_.arrange) {
        case Arrange::AsGiven: break;
        case Arrange::ShortestFirst: std::ranges::stable_sort(first, {}, way); break;
        case Arrange::LongestFirst: std::ranges::stable_sort(first, std::greater{}, way); break;
        case Arrange::LongInTheMiddle: {
            std::ranges::stable_sort(first, {}, way);
            std::vector<OpNumber> down;
            std::vector<OpNumber> up;
            for (std::size_t i = 0; i < first.size(); ++i)
                (i % 2 == 0 ? up : down).push_back(first[i]);
            up.insert(up.end(), down.rbegin(), down.rend());
            first = std::move(up);
            break;
        }
        case Arrange::Random: std::shuffle(first.begin(), first.end(), random_); break;
        }
        return first;
    }

    /// Finds the memory that a forward must leave free: for one of each later chunk, and for ops that run at the same
    /// time.
    void findReserves() {
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            RankState& rank = ranks_[r];
            const auto& sizes = problem_.sizes();
            rank.forwards.resize(static_cast<std::size_t>(sizes.vpp));
            rank.gradients.resize(static_cast<std::size_t>(sizes.vpp));
            rank.reserve.assign(static_cast<std::size_t>(sizes.vpp), 0);
            std::int64_t later = 0;
            std::int64_t workspace = 0;
            for (int chunk = sizes.vpp - 1; chunk >= 0; --chunk) {
                const Stage stage = stageOf(sizes.placement, sizes.pp, Rank{r}, Chunk{chunk});
                for (int m = 0; m < sizes.microbatches; ++m) {
                    const OpNumber forward = problem_.find(OpKind::Forward, Microbatch{m}, stage);
                    if (forward == kNoNumber) continue;
                    const NeededOp& op = problem_.op(forward);
                    workspace = std::max({workspace, op.workspace, problem_.op(op.own_next).workspace});
                    rank.reserve[static_cast<std::size_t>(chunk)] = later;
                    later += op.takes;
                    break;
                }
            }
            for (std::int64_t& reserve : rank.reserve)
                reserve += workspace;
        }
    }

    /// Finds the number of forwards that cover the way to the end and back, at the pace of the busiest rank.
    void findFlight() {
        std::vector<std::int64_t> busy(ranks_.size(), 0);
        std::vector<std::int64_t> away(ranks_.size(), 0);
        for (OpNumber op = 0; op < problem_.size(); ++op) {
            const NeededOp& needs = problem_.op(op);
            busy[needs.rank.index()] += needs.busy;
            if (needs.kind != OpKind::Forward) continue;
            // The chain from this forward to the end, minus that from its gradient's end.
            const NeededOp& gradient = problem_.op(needs.own_next);
            const std::int64_t way = chains_.head[at(needs.own_next)] + gradient.time - chains_.head[at(op)];
            away[needs.rank.index()] += way;
        }
        const double pace = static_cast<double>(*std::max_element(busy.begin(), busy.end()));
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const double cover = pace > 0 ? static_cast<double>(away[r]) / pace : 1;
            const double most = std::min(1e6, std::ceil(rule_.in_flight * cover - 1e-9));
            ranks_[r].most_in_flight = std::max(problem_.sizes().vpp, static_cast<int>(most));
        }
    }

    void arrive(OpNumber op, std::int64_t time) {
        const NeededOp& needs = problem_.op(op);
        RankState& rank = ranks_[needs.rank.index()];
        ready_[at(op)] = time;
        rank.stale = true;
        auto& queue = needs.kind == OpKind::Forward          ? rank.forwards[needs.chunk.index()]
                      : needs.kind == OpKind::BackwardWeight ? rank.weights
                                                             : rank.gradients[needs.chunk.index()];
        queue.push_back(op);
        for (std::size_t i = queue.size(); i-- > 1 && ready_[at(queue[i - 1])] > ready_[at(queue[i])];)
            std::swap(queue[i - 1], queue[i]);
    }

    [[nodiscard]] bool fits(const RankState& rank, OpNumber op) const {
        const NeededOp& needs = problem_.op(op);
        if (needs.kind != OpKind::Forward) return true;
        if (rule_.strict && heldBack(rank, op)) return false;
        if (!problem_.limited()) return true;
        return rank.held + needs.takes + rank.reserve[needs.chunk.index()] <= problem_.capacity(needs.rank);
    }

    /// True if enough micro-batches are in flight. Later chunks are limited only by memory.
    [[nodiscard]] bool heldBack(const RankState& rank, OpNumber op) const {
        const int later = problem_.sizes().vpp - 1 - problem_.op(op).chunk.value;
        return rank.in_flight + later >= rank.most_in_flight;
    }

    [[nodiscard]] std::int64_t nextStart(std::size_t r) const {
        const RankState& rank = ranks_[r];
        std::int64_t first = kNever;
        for (const auto* queues : {&rank.forwards, &rank.gradients}) {
            for (const auto& queue : *queues) {
                if (!queue.empty() && fits(rank, queue.front())) first = std::min(first, ready_[at(queue.front())]);
            }
        }
        if (!rank.weights.empty()) first = std::min(first, ready_[at(rank.weights.front())]);
        return first == kNever ? kNever : std::max(first, rank.free);
    }

    /// True if a forward or input gradient is preferred to another.
    [[nodiscard]] bool better(const RankState& rank, OpNumber a, OpNumber b) const {
        const NeededOp& first = problem_.op(a);
        const NeededOp& second = problem_.op(b);
        const bool forward = first.kind == OpKind::Forward;
        if (forward != (second.kind == OpKind::Forward)) {
            const bool wanted = rule_.forward_first && rank.in_flight < rank.most_in_flight;
            return forward == wanted;
        }
        if (first.chunk != second.chunk) {
            if (rule_.noise > 0) return chains_.tail[at(a)] > chains_.tail[at(b)];
            if (forward) return (first.chunk > second.chunk) == rule_.deep_first;
            return (first.chunk < second.chunk) == rule_.deep_first;
        }
        return ready_[at(a)] < ready_[at(b)];
    }

    [[nodiscard]] OpNumber choose(std::size_t r, std::int64_t now) const {
        const RankState& rank = ranks_[r];
        OpNumber chosen = kNoNumber;
        OpNumber soon = kNoNumber; // arrives next
        const auto consider = [&](const auto& queues, bool forwards) {
            for (const auto& queue : queues) {
                if (queue.empty() || !fits(rank, queue.front())) continue;
                const OpNumber op = queue.front();
                if (forwards && heldBack(rank, op)) continue;
                if (ready_[at(op)] <= now) {
                    if (chosen == kNoNumber || better(rank, op, chosen)) chosen = op;
                } else if (soon == kNoNumber || ready_[at(op)] < ready_[at(soon)]) {
                    soon = op;
                }
            }
        };
        consider(rank.forwards, true);
        consider(rank.gradients, false);
        if (chosen != kNoNumber && soon != kNoNumber && rule_.patience > 0 && better(rank, soon, chosen)) {
            const double most = rule_.patience * static_cast<double>(problem_.op(chosen).time);
            if (static_cast<double>(ready_[at(soon)] - now) <= most) chosen = soon;
        }
        const OpNumber weight = rank.weights.empty() ? kNoNumber : rank.weights.front();
        if (chosen == kNoNumber) {
            if (weight != kNoNumber && ready_[at(weight)] <= now) {
                const double room = soon == kNoNumber ? 1e300 : static_cast<double>(ready_[at(soon)] - now);
                if (room >= rule_.fill * static_cast<double>(problem_.op(weight).time)) return weight;
            }
            chosen = soon != kNoNumber ? soon : weight;
        }
        if (chosen == kNoNumber || (weight == chosen && ready_[at(weight)] > now)) chosen = firstForward(rank, chosen);
        return chosen;
    }

    /// Returns a forward beyond the number in flight, if nothing else can run.
    [[nodiscard]] OpNumber firstForward(const RankState& rank, OpNumber other) const {
        OpNumber chosen = other;
        for (const auto& queue : rank.forwards) {
            if (queue.empty() || !fits(rank, queue.front())) continue;
            if (chosen == kNoNumber || ready_[at(queue.front())] < ready_[at(chosen)]) chosen = queue.front();
        }
        return chosen;
    }

    void take(std::size_t r, OpNumber op) {
        const NeededOp& needs = problem_.op(op);
        RankState& rank = ranks_[r];
        auto& queue = needs.kind == OpKind::Forward          ? rank.forwards[needs.chunk.index()]
                      : needs.kind == OpKind::BackwardWeight ? rank.weights
                                                             : rank.gradients[needs.chunk.index()];
        queue.erase(std::find(queue.begin(), queue.end(), op));
        const std::int64_t start = std::max(rank.free, ready_[at(op)]);
        rank.free = start + needs.busy;
        rank.stale = true;
        rank.held += needs.takes - needs.frees;
        if (needs.kind == OpKind::Forward) ++rank.in_flight;
        if (producesInputGradient(needs.kind)) --rank.in_flight;
        orders_[r].push_back(op);
        done_.resize(static_cast<std::size_t>(problem_.size()), 0);
        done_[at(op)] = start + needs.time + 1;
        if (needs.output != kNoNumber) release(needs.output);
        if (needs.own_next != kNoNumber) release(needs.own_next);
    }

    /// An op whose inputs have all been placed is ready when they have arrived.
    void release(OpNumber op) {
        const NeededOp& needs = problem_.op(op);
        std::int64_t time = 0;
        if (needs.input != kNoNumber) {
            if (done_[at(needs.input)] == 0) return;
            time = done_[at(needs.input)] - 1 + problem_.op(needs.input).arrival;
        }
        if (needs.own != kNoNumber) {
            if (done_[at(needs.own)] == 0) return;
            time = std::max(time, done_[at(needs.own)] - 1);
        }
        arrive(op, time);
    }

    const OrderProblem& problem_;
    ListRule rule_;
    ChainTimes chains_;
    std::mt19937_64 random_;
    std::vector<std::int64_t> ready_;
    std::vector<std::int64_t> done_; ///< end + 1; 0 before it is placed
    std::vector<RankState> ranks_;
    RankOrders orders_;
};

} // namespace

RankOrders listOrder(const OrderProblem& problem, const ListRule& rule, const JobControl& control) {
    return ListRun(problem, rule).run(control);
}

} // namespace bubblescope
