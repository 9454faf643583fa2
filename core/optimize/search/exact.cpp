#include "core/optimize/search/exact.h"

#include "core/optimize/search/chain_times.h"
#include "core/optimize/search/one_machine.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kKeptPerState = 24; ///< partial orders of the same ops kept for comparison
constexpr std::size_t kKeptAtMost = 400'000;

/// The ops of one kind and stage, in the order of micro-batches.
struct OpQueue {
    std::vector<OpNumber> ops;
    std::size_t rank = 0;
    bool forward = false;
    std::size_t next = 0; ///< the first one not placed yet
    bool waits = false;   ///< postponed until its rank has run something else
};

class BranchAndBound {
public:
    BranchAndBound(const OrderProblem& problem, std::int64_t known, std::int64_t most_nodes, const JobControl& control)
        : problem_(problem), chains_(queueTimes(problem)), stop_(control, 1024), most_nodes_(most_nodes), best_(known),
          end_(static_cast<std::size_t>(problem.size()), kOpen), earliest_(end_.size(), 0),
          free_(static_cast<std::size_t>(problem.sizes().pp), 0), held_(free_.size(), 0), jobs_(free_.size()),
          orders_(free_.size()) {
        formQueues();
    }

    ExactAnswer run() {
        const bool finished = visit(0);
        return {std::move(found_), best_, finished, nodes_};
    }

private:
    struct Choice {
        std::size_t queue = 0;
        std::int64_t start = 0;
        std::int64_t tail = 0;
    };

    void formQueues() {
        for (const bool forwards : {true, false}) {
            for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
                if ((kind == OpKind::Forward) != forwards) continue;
                if (kind == OpKind::BackwardWeight && !problem_.sizes().split) continue;
                for (int stage = 0; stage < problem_.sizes().pp * problem_.sizes().vpp; ++stage) {
                    OpQueue queue;
                    for (int m = 0; m < problem_.sizes().microbatches; ++m) {
                        const OpNumber op = problem_.find(kind, Microbatch{m}, Stage{stage});
                        if (op != kNoNumber) queue.ops.push_back(op);
                    }
                    if (queue.ops.empty()) continue;
                    const NeededOp& op = problem_.op(queue.ops.front());
                    queue.rank = op.rank.index();
                    queue.forward = forwards;
                    queues_.push_back(std::move(queue));
                }
            }
        }
        // Sorted so that ops of one micro-batch follow each other, for the pass over the remaining ops.
        for (const OpQueue& queue : queues_)
            sorted_.push_back(&queue);
        const auto head = [&](const OpQueue* queue) { return chains_.head[at(queue->ops.front())]; };
        std::ranges::stable_sort(sorted_, {}, [&](const OpQueue* queue) {
            const NeededOp& op = problem_.op(queue->ops.front());
            const int kind = op.kind == OpKind::Forward ? 0 : op.kind == OpKind::BackwardWeight ? 2 : 1;
            const int stage = kind == 1 ? -op.stage.value : op.stage.value;
            return std::tuple(kind, stage, head(queue));
        });
    }

    static std::size_t at(OpNumber op) { return static_cast<std::size_t>(op); }

    /// The time at which an op's inputs have arrived; kOpen if one has not been placed.
    [[nodiscard]] std::int64_t ready(OpNumber number) const {
        const NeededOp& op = problem_.op(number);
        std::int64_t time = 0;
        if (op.input != kNoNumber) {
            if (end_[at(op.input)] == kOpen) return kOpen;
            time = end_[at(op.input)] + problem_.op(op.input).arrival;
        }
        if (op.own == kNoNumber) return time;
        return end_[at(op.own)] == kOpen ? kOpen : std::max(time, end_[at(op.own)]);
    }

    [[nodiscard]] bool fits(const NeededOp& op) const {
        return !problem_.limited() || held_[op.rank.index()] + op.takes + op.workspace <= problem_.capacity(op.rank);
    }

    /// A lower bound on all completions of the partial order.
    [[nodiscard]] std::int64_t bound() {
        std::int64_t longest = 0;
        for (auto& jobs : jobs_)
            jobs.clear();
        for (const OpQueue* queue : sorted_) {
            std::int64_t before = free_[queue->rank];
            for (std::size_t i = queue->next; i < queue->ops.size(); ++i) {
                const OpNumber number = queue->ops[i];
                const NeededOp& op = problem_.op(number);
                std::int64_t start = std::max(before, chains_.head[at(number)]);
                const auto wait = [&](OpNumber needed, std::int64_t arrival) {
                    if (needed == kNoNumber) return;
                    const std::int64_t end =
                        end_[at(needed)] != kOpen ? end_[at(needed)] : earliest_[at(needed)] + problem_.op(needed).time;
                    start = std::max(start, end + arrival);
                };
                wait(op.input, op.input == kNoNumber ? 0 : problem_.op(op.input).arrival);
                wait(op.own, 0);
                earliest_[at(number)] = start;
                before = start + op.busy;
                longest = std::max(longest, start + chains_.tail[at(number)]);
                jobs_[queue->rank].push_back({start, op.busy, chains_.tail[at(number)] - op.busy});
            }
        }
        if (longest >= best_) return longest;
        for (std::size_t r = 0; r < free_.size(); ++r)
            longest = std::max({longest, free_[r], machineBound(jobs_[r]).time});
        return longest;
    }

    /// True if another partial order with the same ops has advanced at least as far in every respect; otherwise keeps
    /// this one for comparison.
    [[nodiscard]] bool dominated() {
        std::string key;
        std::vector<std::int64_t> times(free_);
        for (const OpQueue& queue : queues_) {
            key.push_back(static_cast<char>(queue.next));
            key.push_back(queue.waits ? 'w' : '-');
            for (std::size_t i = queue.next; i < queue.ops.size(); ++i) {
                const std::int64_t time = ready(queue.ops[i]);
                if (time == kOpen) break;
                times.push_back(std::max(time, free_[queue.rank]));
            }
            // Outputs whose consumer also waits for something else.
            for (std::size_t i = 0; i < queue.next; ++i) {
                const OpNumber output = problem_.op(queue.ops[i]).output;
                if (output != kNoNumber && end_[at(output)] == kOpen && ready(output) == kOpen)
                    times.push_back(end_[at(queue.ops[i])]);
            }
        }
        auto& kept = seen_[key];
        for (const auto& other : kept) {
            if (std::ranges::equal(other, times, std::less_equal{})) return true;
        }
        if (kept.size() < kKeptPerState && kept_ < kKeptAtMost) {
            kept.push_back(std::move(times));
            ++kept_;
        }
        return false;
    }

    /// Visits all completions of the partial order. False if it was stopped.
    bool visit(OpNumber placed) {
        if (++nodes_ > most_nodes_ || stop_.requested()) return false;
        if (placed == problem_.size()) {
            std::int64_t makespan = 0;
            for (OpNumber op = 0; op < problem_.size(); ++op)
                makespan = std::max(makespan, end_[at(op)] + problem_.after(problem_.op(op).rank));
            if (makespan < best_) {
                best_ = makespan;
                found_ = orders_;
            }
            return true;
        }
        if (bound() >= best_ || dominated()) return true;
        // The rank of the op that could end first must next run an op that starts before that end.
        std::int64_t first_end = kOpen;
        std::size_t first = queues_.size();
        for (std::size_t q = 0; q < queues_.size(); ++q) {
            const std::int64_t start = startOf(q);
            if (start == kOpen) continue;
            const std::int64_t end = start + problem_.op(queues_[q].ops[queues_[q].next]).busy;
            if (end < first_end) {
                first_end = end;
                first = q;
            }
        }
        if (first == queues_.size()) return true; // out of memory
        std::vector<Choice> choices;
        for (std::size_t q = 0; q < queues_.size(); ++q) {
            if (queues_[q].rank != queues_[first].rank) continue;
            const std::int64_t start = startOf(q);
            if (start == kOpen || (start >= first_end && q != first)) continue;
            choices.push_back({q, start, chains_.tail[at(queues_[q].ops[queues_[q].next])]});
        }
        std::ranges::stable_sort(choices, {}, [](const Choice& c) { return std::pair(c.start, -c.tail); });
        for (const Choice& choice : choices) {
            if (!place(choice, placed)) return false;
        }
        // An earlier forward may use the memory that a later op needs. In that case, the next op may be a different
        // one.
        const bool may_wait = problem_.limited() && (queues_[first].forward || problem_.bytes());
        return !may_wait || putOff(choices, placed);
    }

    [[nodiscard]] std::int64_t startOf(std::size_t q) const {
        const OpQueue& queue = queues_[q];
        if (queue.next == queue.ops.size() || queue.waits) return kOpen;
        const OpNumber number = queue.ops[queue.next];
        const std::int64_t time = ready(number);
        if (time == kOpen || !fits(problem_.op(number))) return kOpen;
        return std::max(time, free_[queue.rank]);
    }

    bool place(const Choice& choice, OpNumber placed) {
        OpQueue& queue = queues_[choice.queue];
        const OpNumber number = queue.ops[queue.next];
        const NeededOp& op = problem_.op(number);
        const std::int64_t free = free_[queue.rank];
        std::vector<std::size_t> waited;
        for (std::size_t q = 0; q < queues_.size(); ++q) {
            if (queues_[q].rank != queue.rank || !queues_[q].waits) continue;
            queues_[q].waits = false;
            waited.push_back(q);
        }
        ++queue.next;
        end_[at(number)] = choice.start + op.time;
        free_[queue.rank] = choice.start + op.busy;
        held_[queue.rank] += op.takes - op.frees;
        orders_[queue.rank].push_back(number);
        const bool finished = visit(placed + 1);
        orders_[queue.rank].pop_back();
        held_[queue.rank] -= op.takes - op.frees;
        free_[queue.rank] = free;
        end_[at(number)] = kOpen;
        --queue.next;
        for (const std::size_t q : waited)
            queues_[q].waits = true;
        return finished;
    }

    bool putOff(const std::vector<Choice>& choices, OpNumber placed) {
        for (const Choice& choice : choices)
            queues_[choice.queue].waits = true;
        const bool finished = visit(placed);
        for (const Choice& choice : choices)
            queues_[choice.queue].waits = false;
        return finished;
    }

    const OrderProblem& problem_;
    ChainTimes chains_;
    StopCheck stop_;
    std::int64_t most_nodes_;
    std::int64_t best_;
    std::int64_t nodes_ = 0;
    std::vector<OpQueue> queues_;
    std::vector<const OpQueue*> sorted_;
    std::vector<std::int64_t> end_;             ///< per op; kOpen if not placed
    std::vector<std::int64_t> earliest_;        ///< per op that has not been placed
    std::vector<std::int64_t> free_;            ///< per rank
    std::vector<std::int64_t> held_;            ///< per rank
    std::vector<std::vector<MachineJob>> jobs_; ///< per rank, ops that have not been placed
    RankOrders orders_;
    std::unordered_map<std::string, std::vector<std::vector<std::int64_t>>> seen_;
    std::size_t kept_ = 0;
    std::optional<RankOrders> found_;
};

} // namespace

ExactAnswer exactOrder(const OrderProblem& problem, std::int64_t known, std::int64_t most_nodes,
                       const JobControl& control) {
    constexpr int kMostMicrobatches = 100; // counted in one byte
    if (!problem.plain() || !problem.uniform() || problem.sizes().microbatches > kMostMicrobatches)
        return {{}, known, false, 0};
    return BranchAndBound(problem, known, most_nodes, control).run();
}

} // namespace bubblescope
