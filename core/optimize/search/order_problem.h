#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/cost/memory_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// Number of an op in an OrderProblem.
using OpNumber = std::int32_t;
inline constexpr OpNumber kNoNumber = -1;

/// An op that a step requires, with everything that affects where it can be in an order. Times are in nanoseconds;
/// memory is in the unit of the limits.
struct NeededOp {
    OpKind kind = OpKind::Forward;
    Microbatch microbatch;
    Stage stage;
    Rank rank;
    Chunk chunk;
    std::int64_t time = 0;       ///< time from start to end
    std::int64_t busy = 0;       ///< time from start until the rank is free: `time` plus a send that blocks the rank
    std::int64_t work = 0;       ///< minimum time that the op occupies its rank: less than `busy` if pairs save time
    std::int64_t arrival = 0;    ///< time from the end until the output reaches its consumer
    OpNumber input = kNoNumber;  ///< op of the neighbouring stage that produces the input
    OpNumber output = kNoNumber; ///< op that consumes the output
    OpNumber own = kNoNumber;    ///< op of the same rank that must precede this one: F for I or B, I for W
    OpNumber own_next = kNoNumber;
    std::int64_t takes = 0;     ///< memory allocated when the op starts
    std::int64_t frees = 0;     ///< memory freed when the op ends
    std::int64_t workspace = 0; ///< additional memory while the op runs
};

struct MemoryLimits {
    /// Per rank, the maximum number of activations, counted as in peakActivations(); empty = no limit, one entry = the
    /// same limit for all ranks.
    std::vector<int> activations = {};
    /// The memory of all stages in bytes, and the limit per rank: empty = no limit, one entry = limit for every rank.
    std::optional<MemoryModel> model = {};
    std::vector<std::int64_t> bytes = {};
};

/// The sizes of a step, regardless of the order of its ops.
struct OrderSizes {
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    /// Number of micro-batches of a second pipeline, for Placement::Bidirectional; included in `microbatches`.
    int second = 0;
    /// Number of copies of the second pipeline's model (StageWays). Each copy runs the same number of consecutive
    /// micro-batches; the first copy runs the first ones.
    int second_copies = 1;
    bool pairs = false; ///< true if forwards and gradients may run as pairs, which take the time costs.overlapped
    /// Per rank, the time of the work between its last op and the end of the step, such as the optimizer; empty =
    /// none.
    std::vector<TimeNs> after = {};
};

/// The ops of one step, to be put into an order. Immutable.
///
/// With two pipelines that share the ranks (Placement::Bidirectional), the first `microbatches` − `second`
/// micro-batches run on the first pipeline, the others on the second.
class OrderProblem {
public:
    struct Sizes : OrderSizes {
        Placement placement = Placement::Loop;
        bool split = true; ///< true if backwards are I and W, false if B
    };

    /// `costs` provides times by stage if stages differ, and must outlive this object. Errors: Usage if copies of a
    /// second pipeline do not fit or do not share its micro-batches evenly, or if times do not cover every stage,
    /// add up to more than 64 bits, or make pairs shorter than one of their halves; Input, with the rank, if memory
    /// cannot hold a single micro-batch.
    [[nodiscard]] static Result<OrderProblem> make(const Sizes& sizes, const CostModel& costs,
                                                   const MemoryLimits& limits);

    [[nodiscard]] const Sizes& sizes() const { return sizes_; }
    [[nodiscard]] const CostModel& costs() const { return *costs_; }
    [[nodiscard]] OpNumber size() const { return static_cast<OpNumber>(ops_.size()); }
    [[nodiscard]] const NeededOp& op(OpNumber number) const { return ops_[static_cast<std::size_t>(number)]; }
    [[nodiscard]] const std::vector<NeededOp>& ops() const { return ops_; }
    /// Memory limit of a rank; the largest integer if there is no limit.
    [[nodiscard]] std::int64_t capacity(Rank rank) const { return capacity_[rank.index()]; }
    /// Time of the work between a rank's last op and the end of the step.
    [[nodiscard]] std::int64_t after(Rank rank) const { return after_[rank.index()]; }
    [[nodiscard]] bool limited() const { return limited_; }
    [[nodiscard]] bool bytes() const { return bytes_; } ///< true if memory is in bytes, false if it is in activations
    /// True if all micro-batches take the same time on each stage: orders then differ only in kinds and stages.
    [[nodiscard]] bool uniform() const { return uniform_; }
    /// True if busy times and arrivals are the only costs of transfers, and ops run one by one. Otherwise a schedule
    /// can only be evaluated by simulation.
    [[nodiscard]] bool plain() const { return plain_; }
    /// The same problem with different op times, indexed by op number. For plain() problems.
    [[nodiscard]] OrderProblem withTimes(const std::vector<std::int64_t>& times) const;
    /// True if an input gradient and its weight gradient take as long as a combined backward.
    [[nodiscard]] bool addsUp(OpNumber input_grad) const;
    /// The F, the B or I, or the W of a micro-batch and stage; kNoNumber if there is none.
    [[nodiscard]] OpNumber find(OpKind kind, Microbatch microbatch, Stage stage) const;

private:
    OrderProblem() = default;
    void addOps();
    void link();
    Status addPairs();
    Status addMemory(const MemoryLimits& limits);

    Sizes sizes_;
    const CostModel* costs_ = nullptr;
    std::vector<NeededOp> ops_;
    std::vector<OpNumber> table_;
    std::vector<std::int64_t> capacity_;
    std::vector<std::int64_t> after_;
    bool limited_ = false;
    bool bytes_ = false;
    bool plain_ = true;
    bool uniform_ = true;
};

/// Per rank, its ops in execution order.
using RankOrders = std::vector<std::vector<OpNumber>>;

/// The time from the start of a simulated step to the last end of an op or of the work that follows on its rank.
/// If there is no such work, this is StepTimeline::wall().
[[nodiscard]] TimeNs stepLength(const OrderProblem& problem, const StepTimeline& step);

/// The schedule of an order. `fused` (per op, or empty) marks input gradients followed directly by their weight
/// gradient, which are merged into a combined backward.
[[nodiscard]] Schedule scheduleOf(const OrderProblem& problem, const RankOrders& orders,
                                  const std::vector<char>& fused = {});

/// Merges each forward and adjacent gradient of another micro-batch into a pair, starting with the first op.
void pairNeighbours(Schedule& schedule);

/// The order of a schedule whose ops match the problem. The ops of a pair are placed one after the other, and combined
/// backwards become I and W if the problem splits them. None if the ops differ.
[[nodiscard]] std::optional<RankOrders> ordersOf(const OrderProblem& problem, const Schedule& schedule);

/// True if no rank exceeds its capacity.
[[nodiscard]] bool fitsMemory(const OrderProblem& problem, const RankOrders& orders);

} // namespace bubblescope
