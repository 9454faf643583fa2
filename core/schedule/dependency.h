#pragma once

#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

class StageWays;

/// Index of an op in an OpGraph: ops are numbered consecutively, rank by rank, in execution order.
using OpIndex = std::int32_t;
inline constexpr OpIndex kNoOp = -1;      ///< the op needs no producer of this kind
inline constexpr OpIndex kMissingOp = -2; ///< the op needs a producer that the schedule does not contain

/// Limits the memory that is allocated for a corrupt file.
inline constexpr int kMaxSequenceSlices = 4096;

/// The ops that an op waits for, except for the previous op on its rank.
struct Producers {
    OpIndex stage = kNoOp; ///< data from the neighbouring stage: F(s) for F(s+1), B or I (s+1) for B or I (s)
    /// Data kept on the same stage: F(s) for B or I (s), I(s) for W(s). For an F where two encoders join, the output of
    /// the first encoder; `stage` is then that of the second.
    OpIndex own = kNoOp;
};

/// The ops of one step, rank by rank in execution order, and the sizes to which they refer.
struct OpLists {
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    Placement placement = Placement::Loop;
    std::vector<Op> ops;
    std::vector<OpIndex> rank_begin; ///< first index of each rank, followed by the end of the last rank

    [[nodiscard]] static OpLists of(const Schedule& schedule);
};

/// Data dependencies between the ops of one step. Needs about 32 bytes per op, plus 3 ints per micro-batch, sequence
/// slice and stage. Built in linear time, on all cores if there are many ops, from any schedule, valid or not: ops out
/// of range affect only the order within their rank, and duplicate ops are ignored. Immutable after construction.
class OpGraph {
public:
    explicit OpGraph(OpLists lists);
    explicit OpGraph(const Schedule& schedule) : OpGraph(OpLists::of(schedule)) {}

    [[nodiscard]] OpIndex size() const { return static_cast<OpIndex>(ops_.size()); }
    [[nodiscard]] int rankCount() const { return static_cast<int>(rank_begin_.size()) - 1; }
    /// The ops of a rank in execution order.
    [[nodiscard]] std::span<const Op> opsOf(Rank rank) const {
        return std::span(ops_).subspan(at(firstOf(rank)), at(endOf(rank) - firstOf(rank)));
    }
    [[nodiscard]] const Op& op(OpIndex index) const { return ops_[at(index)]; }
    [[nodiscard]] Rank rank(OpIndex index) const { return ranks_[at(index)]; }
    [[nodiscard]] Stage stage(OpIndex index) const;
    [[nodiscard]] const Producers& producers(OpIndex index) const { return producers_[at(index)]; }
    [[nodiscard]] OpIndex firstOf(Rank rank) const { return rank_begin_[rank.index()]; }
    [[nodiscard]] OpIndex endOf(Rank rank) const { return rank_begin_[rank.index() + 1]; }
    /// The op of the neighbouring stage that needs this op's output; kNoOp if there is none.
    [[nodiscard]] OpIndex consumer(OpIndex index) const { return consumerOn(index, neighbour(index)); }
    /// True if two encoders join: some ops then have a joinedInput() or a joinedConsumer().
    [[nodiscard]] bool joins() const { return bubblescope::joins(placement_); }
    /// The output of the first encoder that an F needs besides Producers::stage; kNoOp for other ops.
    [[nodiscard]] OpIndex joinedInput(OpIndex index) const {
        return ops_[at(index)].kind == OpKind::Forward ? producers(index).own : kNoOp;
    }
    /// The op of the first encoder that needs a gradient of the trunk besides consumer(); kNoOp for other ops.
    [[nodiscard]] OpIndex joinedConsumer(OpIndex index) const {
        return producesInputGradient(ops_[at(index)].kind)
                   ? consumerOn(index, joinedStage(placement_, stage(index).value))
                   : kNoOp;
    }
    /// True if the op's input comes from another rank.
    [[nodiscard]] bool receives(OpIndex index) const {
        const OpIndex producer = producers(index).stage;
        return producer >= 0 && rank(producer) != rank(index);
    }
    /// The previous op on the rank; kNoOp for the first op.
    [[nodiscard]] OpIndex previous(OpIndex index) const { return index == firstOf(rank(index)) ? kNoOp : index - 1; }

    /// The other half of an overlapped pair, which starts and ends with this one; kNoOp for all other ops.
    [[nodiscard]] OpIndex partner(OpIndex index) const { return partners_.empty() ? kNoOp : partners_[at(index)]; }
    /// Number of slices of a micro-batch's sequence; 1 if sequences are not split.
    [[nodiscard]] int sequenceSlices() const { return slices_; }

    /// The F, the input gradient (B or I) or the W for a micro-batch, sequence slice and stage; kMissingOp if there is
    /// none.
    [[nodiscard]] OpIndex find(OpKind kind, Microbatch microbatch, Stage stage, int sequence = 0) const;

    /// False for ops whose micro-batch or chunk does not exist.
    [[nodiscard]] bool inRange(const Op& op) const;
    /// True if inRange() is true for all ops.
    [[nodiscard]] bool allInRange() const { return all_in_range_; }

    /// True if counting alone shows that the ops are complete: exactly one forward and one backward for every
    /// micro-batch and stage, no other ops, and no pair with a missing half. If false, the ops may still be complete.
    [[nodiscard]] bool plainlyComplete() const;

private:
    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] std::size_t slot(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const;
    [[nodiscard]] int stageSlots() const;
    /// The stage that receives an op's output; outside the range of stages if there is none.
    [[nodiscard]] int neighbour(OpIndex index) const;
    [[nodiscard]] OpIndex consumerOn(OpIndex index, int stage) const;
    void indexOps();
    /// Properties of a subset of the ops.
    struct Part {
        std::array<std::int64_t, 5> kind_count{};
        bool regular = true;
        bool in_range = true;
    };
    [[nodiscard]] Part indexRank(Rank rank);
    void linkPairs();
    void linkProducers();
    /// Links the ops in [begin, end); returns false if there is a W without an I.
    [[nodiscard]] bool linkProducers(const StageWays& ways, OpIndex begin, OpIndex end);
    void placeStages();

    int microbatches_;
    int vpp_;
    int pp_;
    Placement placement_;
    int slices_ = 1;
    std::vector<Op> ops_;
    std::vector<Rank> ranks_;
    std::vector<OpIndex> rank_begin_;
    std::vector<OpIndex> table_; ///< slot -> op
    std::vector<Producers> producers_;
    std::vector<OpIndex> partners_; ///< empty if nothing overlaps
    std::vector<Stage> stages_;     ///< maps rank · v + chunk to the stage
    std::array<std::int64_t, 5> kind_count_{};
    bool regular_ = true; ///< no op is out of range, a duplicate, half of an incomplete pair, or a W without its I
    bool all_in_range_ = true;
    bool overlaps_ = false;
};

/// Executes the graph without modelling time. Calls visit(op, partner) once for every op that can run, after all of its
/// inputs and all earlier ops of its rank. The two halves of an overlapped pair share a call; for other ops, `partner`
/// is kNoOp. Returns the next op of each blocked rank; empty if there is no deadlock. Linear in the number of ops.
template <class Visit>
[[nodiscard]] std::vector<OpIndex> visitInOrder(const OpGraph& graph, Visit visit) {
    struct RankState {
        OpIndex head = 0;          ///< the next op to run; all earlier ops have run
        OpIndex waits_for = kNoOp; ///< op of another rank for which this rank waits
        int next_waiter = -1;      ///< next rank in the list of ranks that wait for the same rank
        int first_waiter = -1;     ///< first rank in the list of ranks that wait for this one
    };
    std::vector<RankState> ranks(static_cast<std::size_t>(graph.rankCount()));
    std::vector<int> runnable;
    for (int r = graph.rankCount() - 1; r >= 0; --r) {
        ranks[Rank{r}.index()].head = graph.firstOf(Rank{r});
        runnable.push_back(r);
    }
    const auto done = [&](OpIndex op) { return op == kNoOp || (op >= 0 && op < ranks[graph.rank(op).index()].head); };
    const auto missingInput = [&](OpIndex op) {
        const Producers& needs = graph.producers(op);
        if (!done(needs.stage)) return needs.stage;
        return done(needs.own) ? kNoOp : needs.own;
    };
    while (!runnable.empty()) {
        const int rank = runnable.back();
        runnable.pop_back();
        RankState& self = ranks[Rank{rank}.index()];
        const OpIndex end = graph.endOf(Rank{rank});
        OpIndex missing = kNoOp;
        while (self.head < end) {
            const OpIndex partner = graph.partner(self.head);
            missing = missingInput(self.head);
            if (missing == kNoOp && partner != kNoOp) missing = missingInput(partner);
            if (missing != kNoOp) break;
            visit(self.head, partner);
            self.head += partner != kNoOp ? 2 : 1;
        }
        if (missing >= 0 && graph.rank(missing) != Rank{rank}) {
            RankState& other = ranks[graph.rank(missing).index()];
            self.waits_for = missing;
            self.next_waiter = std::exchange(other.first_waiter, rank);
        }
        // Waiters whose input is available run next; the others remain in the list.
        int waiter = std::exchange(self.first_waiter, -1);
        while (waiter >= 0) {
            RankState& other = ranks[Rank{waiter}.index()];
            const int next = other.next_waiter;
            if (done(other.waits_for)) {
                runnable.push_back(waiter);
            } else {
                other.next_waiter = std::exchange(self.first_waiter, waiter);
            }
            waiter = next;
        }
    }
    std::vector<OpIndex> blocked;
    for (int r = 0; r < graph.rankCount(); ++r) {
        if (ranks[Rank{r}.index()].head < graph.endOf(Rank{r})) blocked.push_back(ranks[Rank{r}.index()].head);
    }
    return blocked;
}

/// Either an order in which all ops can run, or the ops at which execution deadlocks.
struct ExecutionOrder {
    std::vector<OpIndex> order;
    std::vector<OpIndex> blocked; ///< the ops returned by visitInOrder()
};

[[nodiscard]] ExecutionOrder executionOrder(const OpGraph& graph);

} // namespace bubblescope
