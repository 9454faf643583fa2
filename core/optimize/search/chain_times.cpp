#include "core/optimize/search/chain_times.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kLong = std::numeric_limits<std::int64_t>::max() / 4;
constexpr int kPasses = 12;              ///< passes over all queues, as long as times still grow
constexpr std::size_t kMostLanes = 4096; ///< with more lanes, ops of a rank are not counted against each other
constexpr std::size_t kNoLane = std::numeric_limits<std::size_t>::max();

/// An op of a lane that waits for an op of another or the same lane.
struct Arc {
    std::size_t from = 0;
    std::int32_t shift = 0; ///< op k waits for op k - shift
    std::int64_t delay = 0; ///< from start to start
};

/// The ops of one kind and stage, which run in turn.
struct Lane {
    std::size_t rank = 0;
    std::int32_t count = 0;
    std::int64_t busy = 0;
    std::int64_t work = 0;  ///< of its rank
    std::int64_t least = 0; ///< the first op's start, if it waits for nothing
    std::vector<Arc> waits;
    std::int64_t held = 0;      ///< amount that an op adds to the memory of its rank (negative if it frees memory)
    std::int64_t workspace = 0; ///< additional, while it runs
    /// The lane of the same rank, micro-batches and stage whose ops come before; none if that is this one.
    std::size_t own = kNoLane;
};

/// All lanes. Those that others wait for without a shift come first.
using Lanes = std::vector<Lane>;
/// Per lane and op.
using LaneTimes = std::vector<std::vector<std::int64_t>>;

/// The completion of a growing set of jobs on one machine: the maximum of "one job's release plus all work released
/// then or later".
class MachineSet {
public:
    explicit MachineSet(std::size_t jobs) {
        while (leaves_ < jobs)
            leaves_ *= 2;
        nodes_.assign(2 * leaves_, {});
    }
    /// `place` must be in order of release.
    void add(std::size_t place, std::int64_t release, std::int64_t work) {
        std::size_t node = leaves_ + place;
        nodes_[node] = {work, release + work};
        for (node /= 2; node > 0; node /= 2)
            nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
    }
    void clear() { std::fill(nodes_.begin(), nodes_.end(), Node{}); }
    [[nodiscard]] std::int64_t end() const { return nodes_[1].end; }
    /// The completion with one more job, which comes before the jobs from `place` on.
    [[nodiscard]] std::int64_t endWith(std::size_t place, std::int64_t release, std::int64_t work) const {
        if (place >= leaves_) return std::max({end(), end() + work, release + work});
        Node earlier; // jobs before `place`, from the last one back
        std::int64_t later = nodes_[leaves_ + place].work;
        for (std::size_t node = leaves_ + place; node > 1; node /= 2) {
            if (node % 2 == 1)
                earlier = joined(nodes_[node - 1], earlier);
            else
                later += nodes_[node + 1].work;
        }
        return std::max({end(), earlier.end + work + later, release + work + later});
    }

private:
    struct Node {
        std::int64_t work = 0;
        std::int64_t end = -kLong;
    };
    static Node joined(const Node& left, const Node& right) {
        return {left.work + right.work, std::max(left.end + right.work, right.end)};
    }
    std::size_t leaves_ = 1;
    std::vector<Node> nodes_;
};

/// The smallest shift at which an op of one lane must come after an op of another, along any path; -1 if it need not.
std::vector<std::int32_t> shiftsTo(const Lanes& lanes, std::size_t lane) {
    std::vector<std::int32_t> shifts(lanes.size(), -1);
    using Entry = std::pair<std::int32_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    open.emplace(0, lane);
    while (!open.empty()) {
        const auto [shift, at] = open.top();
        open.pop();
        if (shifts[at] >= 0) continue;
        shifts[at] = shift;
        for (const Arc& arc : lanes[at].waits)
            if (shifts[arc.from] < 0) open.emplace(shift + arc.shift, arc.from);
    }
    return shifts;
}

/// Finds the earliest starts in lanes.
class EarliestStarts {
public:
    /// `capacity` is the memory per rank; empty = no limit.
    EarliestStarts(const Lanes& lanes, std::vector<std::int64_t> capacity)
        : lanes_(lanes), capacity_(std::move(capacity)) {
        std::size_t ranks = 0;
        for (const Lane& lane : lanes_) {
            ranks = std::max(ranks, lane.rank + 1);
            times_.emplace_back(static_cast<std::size_t>(lane.count), lane.least);
            longest_ = std::max(longest_, lane.count);
        }
        of_rank_.resize(ranks);
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            of_rank_[lanes_[i].rank].push_back(i);
        if (lanes_.size() > kMostLanes) return;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const auto shifts = shiftsTo(lanes_, i);
            auto& kept = shifts_.emplace_back();
            for (const std::size_t other : of_rank_[lanes_[i].rank])
                kept.push_back(other == i ? 1 : shifts[other]);
        }
    }

    LaneTimes run() {
        propagate();
        if (shifts_.empty()) return std::move(times_);
        for (int pass = 0; pass < kPasses; ++pass) {
            bool grew = false;
            for (const auto& rank : of_rank_)
                grew = countRank(rank) || grew;
            if (!grew) break;
            propagate();
        }
        return std::move(times_);
    }

private:
    void propagate() {
        for (std::int32_t k = 0; k < longest_; ++k) {
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                if (k >= lanes_[i].count) continue;
                std::int64_t& start = times_[i][static_cast<std::size_t>(k)];
                for (const Arc& arc : lanes_[i].waits) {
                    const std::int32_t from = k - arc.shift;
                    if (from >= 0)
                        start = std::max(start, times_[arc.from][static_cast<std::size_t>(from)] + arc.delay);
                }
            }
        }
    }

    /// Applies the rule that all ops that must come before an op on its rank have run when it starts.
    bool countRank(const std::vector<std::size_t>& rank) {
        std::vector<std::tuple<std::int64_t, std::size_t, std::int32_t>> jobs; // release, place in `rank`, op
        std::vector<std::vector<std::size_t>> place(rank.size());
        for (std::size_t i = 0; i < rank.size(); ++i) {
            place[i].resize(times_[rank[i]].size());
            for (std::int32_t k = 0; k < lanes_[rank[i]].count; ++k)
                jobs.emplace_back(times_[rank[i]][static_cast<std::size_t>(k)], i, k);
        }
        std::ranges::sort(jobs);
        for (std::size_t j = 0; j < jobs.size(); ++j)
            place[std::get<1>(jobs[j])][static_cast<std::size_t>(std::get<2>(jobs[j]))] = j;
        bool grew = false;
        MachineSet before(jobs.size());
        for (const std::size_t lane : rank) {
            before.clear();
            std::vector<std::int32_t> added(rank.size(), 0);
            for (std::int32_t k = 0; k < lanes_[lane].count; ++k) {
                for (std::size_t i = 0; i < rank.size(); ++i) {
                    const std::int32_t shift = shifts_[lane][i];
                    if (shift < 0) continue;
                    for (; added[i] < std::min(lanes_[rank[i]].count, k + 1 - shift); ++added[i]) {
                        const auto at = place[i][static_cast<std::size_t>(added[i])];
                        before.add(at, std::get<0>(jobs[at]), lanes_[rank[i]].work);
                    }
                }
                std::int64_t& start = times_[lane][static_cast<std::size_t>(k)];
                std::int64_t end = before.end();
                if (const ForcedWork forced = forcedWork(rank, lane, added); forced.work > 0) {
                    const auto later = std::ranges::lower_bound(jobs, std::tuple(forced.release, std::size_t{0}, 0));
                    end = before.endWith(static_cast<std::size_t>(later - jobs.begin()), forced.release, forced.work);
                }
                if (end <= start) continue;
                start = end;
                grew = true;
            }
        }
        return grew;
    }

    /// Work that is not required before an op as such, but some of which must come first, because otherwise the op
    /// would not have enough memory.
    struct ForcedWork {
        std::int64_t release = 0; ///< earliest start
        std::int64_t work = 0;
    };

    /// `done`: for each lane of the rank, the number of ops that must come before the op that is about to start in
    /// `lane`.
    [[nodiscard]] ForcedWork forcedWork(const std::vector<std::size_t>& rank, std::size_t lane,
                                        const std::vector<std::int32_t>& done) const {
        if (capacity_.empty()) return {};
        const Lane& starts = lanes_[lane];
        if (starts.held <= 0) return {};
        std::int64_t over = starts.held + starts.workspace - capacity_[starts.rank];
        for (std::size_t i = 0; i < rank.size(); ++i)
            over += std::int64_t{done[i]} * lanes_[rank[i]].held;
        if (over <= 0) return {};
        // Ways to free memory, the cheapest first. Each is an op that frees some, with the previous one if that still
        // has to run and frees less for its time. In a chain of three, only the first, which takes memory, is left out.
        struct Way {
            long double price = 0; ///< work per unit of freed memory
            std::int64_t frees = 0;
            std::int64_t most = 0; ///< number of times
        };
        std::vector<Way> ways;
        ForcedWork result{kLong, 0};
        for (std::size_t i = 0; i < rank.size(); ++i) {
            const Lane& last = lanes_[rank[i]];
            if (last.held > 0 || last.own == kNoLane) continue;
            const auto own = static_cast<std::size_t>(std::ranges::find(rank, last.own) - rank.begin());
            const Lane& before = lanes_[last.own];
            const auto offer = [&](std::int64_t work, std::int64_t frees, std::int64_t most) {
                if (frees > 0 && most > 0)
                    ways.push_back({static_cast<long double>(work) / static_cast<long double>(frees), frees, most});
            };
            if (done[i] < last.count)
                result.release = std::min(result.release, times_[rank[i]][static_cast<std::size_t>(done[i])]);
            offer(last.work, -last.held, done[own] - done[i]);
            if (before.own == kNoLane) continue;
            // The middle one and the last: together, and the last alone if it frees more for its time.
            const auto first = static_cast<std::size_t>(std::ranges::find(rank, before.own) - rank.begin());
            if (done[own] < before.count)
                result.release = std::min(result.release, times_[last.own][static_cast<std::size_t>(done[own])]);
            const std::int64_t most = done[first] - done[own];
            const bool alone =
                before.held < 0 && static_cast<long double>(before.work) * static_cast<long double>(-last.held) <=
                                       static_cast<long double>(last.work) * static_cast<long double>(-before.held);
            if (alone) {
                offer(last.work, -last.held, most); // after the middle one, which has its own entry
            } else {
                offer(before.work + last.work, -(before.held + last.held), most);
            }
        }
        std::ranges::sort(ways, {}, &Way::price);
        long double work = 0;
        for (const Way& way : ways) {
            const std::int64_t freed = std::min(over, way.frees * way.most);
            work += way.price * static_cast<long double>(freed);
            over -= freed;
            if (over == 0) break;
        }
        result.work = static_cast<std::int64_t>(work * (1 - 1e-15L));
        return result.release == kLong ? ForcedWork{} : result;
    }

    const Lanes& lanes_;
    std::vector<std::int64_t> capacity_;
    LaneTimes times_;
    std::int32_t longest_ = 0;
    std::vector<std::vector<std::size_t>> of_rank_;
    std::vector<std::vector<std::int32_t>> shifts_; ///< per lane, to the lanes of its rank
};

/// The lanes of a problem, and which op is which.
struct ProblemLanes {
    Lanes lanes;
    std::vector<std::vector<OpNumber>> ops;
};

ProblemLanes lanesOf(const OrderProblem& problem, bool memory) {
    const auto& sizes = problem.sizes();
    const int stages = sizes.pp * sizes.vpp;
    ProblemLanes result;
    std::vector<std::size_t> lane_of(static_cast<std::size_t>(problem.size()));
    const auto add = [&](OpKind kind, int stage) {
        std::vector<OpNumber> ops;
        for (int m = 0; m < sizes.microbatches; ++m) {
            const OpNumber op = problem.find(kind, Microbatch{m}, Stage{stage});
            if (op != kNoNumber) ops.push_back(op);
        }
        if (ops.empty()) return;
        const NeededOp& op = problem.op(ops.front());
        const std::size_t index = result.lanes.size();
        Lane lane{op.rank.index(), static_cast<std::int32_t>(ops.size()), op.busy, op.work, 0, {}};
        lane.held = op.takes - op.frees;
        lane.workspace = op.workspace;
        if (op.own != kNoNumber) lane.own = lane_of[static_cast<std::size_t>(op.own)];
        lane.waits.push_back({index, 1, op.busy});
        for (const OpNumber before : {op.input, op.own}) {
            if (before == kNoNumber) continue;
            const NeededOp& needed = problem.op(before);
            const std::int64_t arrives = before == op.input ? needed.time + needed.arrival : needed.time;
            lane.waits.push_back({lane_of[static_cast<std::size_t>(before)], 0,
                                  needed.rank == op.rank ? std::max(arrives, needed.busy) : arrives});
        }
        for (const OpNumber number : ops)
            lane_of[static_cast<std::size_t>(number)] = index;
        result.lanes.push_back(std::move(lane));
        result.ops.push_back(std::move(ops));
    };
    const OpKind gradient = sizes.split ? OpKind::BackwardInput : OpKind::Backward;
    for (int stage = 0; stage < stages; ++stage)
        add(OpKind::Forward, stage);
    for (int stage = stages; stage-- > 0;)
        add(gradient, stage);
    for (int stage = 0; sizes.split && stage < stages; ++stage)
        add(OpKind::BackwardWeight, stage);
    if (!memory || !problem.limited()) return result;
    for (std::size_t i = 0; i < result.lanes.size(); ++i) {
        const NeededOp& forward = problem.op(result.ops[i].front());
        if (forward.kind != OpKind::Forward || forward.takes <= 0) continue;
        const std::int64_t window = (problem.capacity(forward.rank) - forward.workspace) / forward.takes;
        if (window < 1 || window >= result.lanes[i].count) continue;
        // If each half frees its part, the first half is the minimum that must have run.
        OpNumber release = forward.own_next;
        if (problem.op(release).frees == 0) release = problem.op(release).own_next;
        result.lanes[i].waits.push_back(
            {lane_of[static_cast<std::size_t>(release)], static_cast<std::int32_t>(window), problem.op(release).busy});
    }
    return result;
}

/// The same lanes with time running backwards: op k is the k-th from the end, and its start is the time that follows
/// it.
Lanes mirrored(const ProblemLanes& problem_lanes, const OrderProblem& problem) {
    const Lanes& lanes = problem_lanes.lanes;
    const std::size_t last = lanes.size() - 1;
    Lanes result(lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        Lane& lane = result[last - i];
        const NeededOp& op = problem.op(problem_lanes.ops[i].front());
        lane.rank = lanes[i].rank;
        lane.count = lanes[i].count;
        lane.busy = lanes[i].busy;
        lane.work = lanes[i].work;
        lane.least = op.time - op.busy + problem.after(op.rank);
        lane.held = -lanes[i].held;
        lane.workspace = lanes[i].workspace;
        if (lanes[i].own != kNoLane) result[last - lanes[i].own].own = last - i;
        for (const Arc& arc : lanes[i].waits)
            result[last - arc.from].waits.push_back(
                {last - i, arc.shift, arc.delay + lanes[i].busy - lanes[arc.from].busy});
    }
    return result;
}

std::size_t numberOf(OpNumber op) {
    return static_cast<std::size_t>(op);
}

} // namespace

ChainTimes chainTimes(const OrderProblem& problem) {
    const auto count = static_cast<std::size_t>(problem.size());
    ChainTimes times{std::vector<std::int64_t>(count, 0), std::vector<std::int64_t>(count, 0)};
    // Forwards of a micro-batch follow the stages; gradients follow them back; numbers ascend by stage.
    const auto headOf = [&](OpNumber op) {
        const NeededOp& needs = problem.op(op);
        std::int64_t head = 0;
        if (needs.input != kNoNumber) {
            const NeededOp& input = problem.op(needs.input);
            head = times.head[numberOf(needs.input)] + input.time + input.arrival;
        }
        if (needs.own != kNoNumber) head = std::max(head, times.head[numberOf(needs.own)] + problem.op(needs.own).time);
        times.head[numberOf(op)] = head;
    };
    const auto tailOf = [&](OpNumber op) {
        const NeededOp& needs = problem.op(op);
        std::int64_t tail = needs.time + problem.after(needs.rank);
        if (needs.output != kNoNumber)
            tail = std::max(tail, needs.time + needs.arrival + times.tail[numberOf(needs.output)]);
        if (needs.own_next != kNoNumber) tail = std::max(tail, needs.time + times.tail[numberOf(needs.own_next)]);
        times.tail[numberOf(op)] = tail;
    };
    std::vector<OpNumber> order; // topological: forwards up, gradients down, then weights
    for (OpNumber op = 0; op < problem.size(); ++op)
        if (problem.op(op).kind == OpKind::Forward) order.push_back(op);
    for (OpNumber op = problem.size(); op-- > 0;)
        if (producesInputGradient(problem.op(op).kind)) order.push_back(op);
    for (OpNumber op = 0; op < problem.size(); ++op)
        if (problem.op(op).kind == OpKind::BackwardWeight) order.push_back(op);
    for (const OpNumber op : order)
        headOf(op);
    for (std::size_t i = order.size(); i-- > 0;)
        tailOf(order[i]);
    return times;
}

ChainTimes queueTimes(const OrderProblem& problem, bool memory) {
    const ProblemLanes lanes = lanesOf(problem, memory);
    const auto count = static_cast<std::size_t>(problem.size());
    ChainTimes result{std::vector<std::int64_t>(count, 0), std::vector<std::int64_t>(count, 0)};
    std::vector<std::int64_t> capacity;
    for (int r = 0; memory && problem.limited() && r < problem.sizes().pp; ++r)
        capacity.push_back(problem.capacity(Rank{r}));
    const LaneTimes heads = EarliestStarts(lanes.lanes, capacity).run();
    const Lanes backwards = mirrored(lanes, problem);
    const LaneTimes tails = EarliestStarts(backwards, capacity).run();
    const std::size_t last = lanes.lanes.size() - 1;
    for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
        const auto& ops = lanes.ops[i];
        const NeededOp& op = problem.op(ops.front());
        for (std::size_t k = 0; k < ops.size(); ++k) {
            const auto number = static_cast<std::size_t>(ops[k]);
            result.head[number] = heads[i][k];
            result.tail[number] = tails[last - i][ops.size() - 1 - k] + op.busy;
        }
    }
    return result;
}

} // namespace bubblescope
