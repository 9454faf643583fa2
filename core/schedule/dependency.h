#pragma once

#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// Position of an op in an OpGraph: ops are numbered through, rank after rank, in execution order.
using OpIndex = std::int32_t;
inline constexpr OpIndex kNoOp = -1;      ///< the op needs no such producer
inline constexpr OpIndex kMissingOp = -2; ///< the op needs one, and the schedule does not hold it

/// Bounds what a damaged file can ask for.
inline constexpr int kMaxSequenceSlices = 4096;

/// What an op waits for, besides its turn on its rank.
struct Producers {
    OpIndex stage = kNoOp; ///< F(s) for F(s+1), B or I (s+1) for B or I (s): data from the neighbouring stage
    OpIndex own = kNoOp;   ///< F(s) for B or I (s), I(s) for W(s): what the same stage kept
};

/// The data dependencies of one step's ops. Memory: about 50 bytes an op, plus 3 ints for each
/// micro-batch, sequence slice and stage. Built in linear time from any schedule, valid or not: ops that are out of
/// range take part in their rank's order only, of duplicates the first counts.
class OpGraph {
public:
    explicit OpGraph(const Schedule& schedule);

    [[nodiscard]] OpIndex size() const { return static_cast<OpIndex>(ops_.size()); }
    [[nodiscard]] int rankCount() const { return static_cast<int>(rank_begin_.size()) - 1; }
    [[nodiscard]] const Op& op(OpIndex index) const { return ops_[at(index)]; }
    [[nodiscard]] Rank rank(OpIndex index) const { return ranks_[at(index)]; }
    [[nodiscard]] Stage stage(OpIndex index) const;
    [[nodiscard]] const Producers& producers(OpIndex index) const { return producers_[at(index)]; }
    /// Ops that name `index` as a producer; at most three.
    [[nodiscard]] std::span<const OpIndex> consumers(OpIndex index) const;

    [[nodiscard]] OpIndex firstOf(Rank rank) const { return rank_begin_[rank.index()]; }
    [[nodiscard]] OpIndex endOf(Rank rank) const { return rank_begin_[rank.index() + 1]; }
    /// The op before it on its rank, kNoOp for the first.
    [[nodiscard]] OpIndex previous(OpIndex index) const { return index == firstOf(rank(index)) ? kNoOp : index - 1; }

    /// The other half of an overlapped pair, which starts and ends with it; kNoOp for all other ops.
    [[nodiscard]] OpIndex partner(OpIndex index) const { return partners_.empty() ? kNoOp : partners_[at(index)]; }
    /// Slices of a micro-batch's sequence, 1 where it is not split.
    [[nodiscard]] int sequenceSlices() const { return slices_; }

    /// Where F, the input gradient (B or I) or W of a micro-batch, sequence slice and stage is; kMissingOp
    /// if nowhere.
    [[nodiscard]] OpIndex find(OpKind kind, Microbatch microbatch, Stage stage, int sequence = 0) const;

    /// False for ops whose micro-batch or chunk does not exist.
    [[nodiscard]] bool inRange(const Op& op) const;

private:
    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] std::size_t slot(OpKind kind, Microbatch microbatch, Stage stage, int sequence) const;
    [[nodiscard]] int stageSlots() const;
    void indexOps(const Schedule& schedule);
    void linkPairs();
    void linkProducers();
    void linkConsumers();

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
    std::vector<OpIndex> partners_; ///< empty where nothing overlaps
    std::vector<std::array<OpIndex, 3>> consumers_;
    std::vector<std::uint8_t> consumer_count_;
};

/// An order in which all ops can run, or where execution stops for good.
struct ExecutionOrder {
    std::vector<OpIndex> order;
    std::vector<OpIndex> blocked; ///< per rank that is stuck, the op it cannot start; empty = no deadlock
};

/// Runs the graph without times. Linear in ops.
[[nodiscard]] ExecutionOrder executionOrder(const OpGraph& graph);

} // namespace bubblescope
