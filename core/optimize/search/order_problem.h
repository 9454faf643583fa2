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

/// Number of an op of an OrderProblem.
using OpNumber = std::int32_t;
inline constexpr OpNumber kNoNumber = -1;

/// An op that a step needs, with everything that affects its place in an order. Times are nanoseconds, memory is in the
/// unit of the limits.
struct NeededOp {
    OpKind kind = OpKind::Forward;
    Microbatch microbatch;
    Stage stage;
    Rank rank;
    Chunk chunk;
    std::int64_t time = 0;       ///< from its start to its end
    std::int64_t busy = 0;       ///< from its start until its rank is free: `time`, plus a send that blocks the rank
    std::int64_t work = 0;       ///< minimum time of its rank that it takes: less than `busy` if pairs save time
    std::int64_t arrival = 0;    ///< from its end until its output reaches its consumer
    OpNumber input = kNoNumber;  ///< the op of the neighbouring stage that produces its input
    OpNumber output = kNoNumber; ///< the op that consumes its output
    OpNumber own = kNoNumber;    ///< the op of its rank that must come before it: F for I or B, I for W
    OpNumber own_next = kNoNumber;
    std::int64_t takes = 0;     ///< memory taken when it starts
    std::int64_t frees = 0;     ///< memory freed when it ends
    std::int64_t workspace = 0; ///< additional, while it runs
};

struct MemoryLimits {
    /// Per rank, the maximum number of activations, counted as in peakActivations(); empty = no limit, one entry = the
    /// same for all.
    std::vector<int> activations = {};
    /// The memory of all stages in bytes, and the limit per rank: empty = no limit, one entry = the same for all ranks.
    std::optional<MemoryModel> model = {};
    std::vector<std::int64_t> bytes = {};
};

/// The parts of a step, in any order.
struct OrderSizes {
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    /// Micro-batches of a second pipeline, for Placement::Bidirectional; included in `microbatches`.
    int second = 0;
    /// Copies of the second pipeline's model (StageWays); each takes the same number of micro-batches, the first copy
    /// the first ones.
    int second_copies = 1;
    bool pairs = false; ///< a forward and a gradient may run as an overlapped pair, which takes costs.overlapped
    /// Per rank, the time of the work between its last op and the end of the step, such as its optimizer; empty =
    /// nothing.
    std::vector<TimeNs> after = {};
};

/// The ops of one step, to be arranged by an order. Immutable.
///
/// Ops of two pipelines that share the ranks (Placement::Bidirectional): the first `microbatches` − `second` run on the
/// first, the others on the second.
class OrderProblem {
public:
    struct Sizes : OrderSizes {
        Placement placement = Placement::Loop;
        bool split = true; ///< backwards are I and W; otherwise B
    };

    /// `costs` gives times by stage if stages differ, and must outlive this object. Errors: Usage if copies of a second
    /// pipeline do not fit or do not share its micro-batches evenly, or if times do not cover every stage, exceed 64
    /// bits in sum, or make pairs shorter than one of their halves; Input, naming the rank, if memory cannot hold even
    /// one micro-batch.
    [[nodiscard]] static Result<OrderProblem> make(const Sizes& sizes, const CostModel& costs,
                                                   const MemoryLimits& limits);

    [[nodiscard]] const Sizes& sizes() const { return sizes_; }
    [[nodiscard]] const CostModel& costs() const { return *costs_; }
    [[nodiscard]] OpNumber size() const { return static_cast<OpNumber>(ops_.size()); }
    [[nodiscard]] const NeededOp& op(OpNumber number) const { return ops_[static_cast<std::size_t>(number)]; }
    [[nodiscard]] const std::vector<NeededOp>& ops() const { return ops_; }
    /// Per rank; the largest integer if there is no limit.
    [[nodiscard]] std::int64_t capacity(Rank rank) const { return capacity_[rank.index()]; }
    /// The work after the last op of a rank before the step ends.
    [[nodiscard]] std::int64_t after(Rank rank) const { return after_[rank.index()]; }
    [[nodiscard]] bool limited() const { return limited_; }
    [[nodiscard]] bool bytes() const { return bytes_; } ///< memory is in bytes; otherwise in activations
    /// True if all micro-batches of a stage take the same times: orders then only differ in kinds and stages.
    [[nodiscard]] bool uniform() const { return uniform_; }
    /// True if busy times and arrivals are the only costs of transfers, and ops run one by one. Otherwise a schedule
    /// must be simulated to be judged.
    [[nodiscard]] bool plain() const { return plain_; }
    /// The same problem with other op times, by number. For plain() problems.
    [[nodiscard]] OrderProblem withTimes(const std::vector<std::int64_t>& times) const;
    /// True if an input gradient and its weight gradient take as long as a whole backward.
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

/// The time from the start of a simulated step to the last end of an op and of what follows on its rank;
/// StepTimeline::wall() if nothing does.
[[nodiscard]] TimeNs stepLength(const OrderProblem& problem, const StepTimeline& step);

/// The schedule of an order. `fused` (per op, or empty) marks input gradients followed directly by their weight
/// gradient: the two become a whole backward.
[[nodiscard]] Schedule scheduleOf(const OrderProblem& problem, const RankOrders& orders,
                                  const std::vector<char>& fused = {});

/// Makes overlapped pairs of neighbours, a forward and a gradient of another micro-batch, from the first op on.
void pairNeighbours(Schedule& schedule);

/// The order of a schedule whose ops fit the problem: overlapped pairs run one after the other, whole backwards become
/// I and W if the problem splits them. None if the ops differ.
[[nodiscard]] std::optional<RankOrders> ordersOf(const OrderProblem& problem, const Schedule& schedule);

/// True if no rank exceeds its capacity.
[[nodiscard]] bool fitsMemory(const OrderProblem& problem, const RankOrders& orders);

} // namespace bubblescope
