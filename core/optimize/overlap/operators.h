#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::overlap {

/// One operator of a pass through a stage, on one tensor-parallel rank. A pass runs its operators in their order;
/// each needs the one before it. An all-reduce stands right behind the compute op that makes its input: a pass
/// does not begin with one, and no two stand in a row.
struct Operator {
    std::string name;
    TimeNs time{0};
    TimeNs assumed{0};     ///< what a rule that goes by a cost table takes it to cost; equals `time` where it is right
    TimeNs weight_grad{0}; ///< of a gradient matmul: the part of `time` that gives the weight's gradient
    bool splittable = false;  ///< may be cut into slices along its rows
    bool all_reduce = false;  ///< communication of the tensor-parallel group
    bool own_stream = false;  ///< an all-reduce that leaves the compute stream to others
    bool waits_reduce = true; ///< false: does not need the all-reduce before it (a weight gradient)
};

using Operators = std::vector<Operator>;

/// How the two streams share the device.
struct StreamRules {
    /// An all-reduce of higher priority starts as soon as its input is there. One of equal priority queues behind
    /// the compute op that was launched right after its producer, unless that op needs it.
    bool high_priority = true;
    TimeNs cut_time{0}; ///< what it costs the compute stream to resume a pass that the other one interrupted
};

/// A stage's operators and their costs, as a cost-model file gives them.
struct OpCosts {
    std::string name;
    int layers = 1;     ///< layers of a stage
    Operators forward;  ///< of one layer
    Operators backward; ///< of one layer, in the order in which the backward runs them
    StreamRules rules;
    /// What a cutting rule takes each of the backward's all-reduces to cost; their longest if not given.
    std::optional<TimeNs> cut_budget;
    int most_slices = 4;   ///< into which an op may be split
    double slice_loss = 0; ///< each slice more than one lengthens the whole op by this share of it
};

[[nodiscard]] TimeNs computeTime(const Operators& ops);
[[nodiscard]] TimeNs allReduceTime(const Operators& ops);
[[nodiscard]] TimeNs longestAllReduce(const Operators& ops);

/// The same costs for stages of another number of layers. Usage error if a pass would have more than 2000
/// operators, which bounds the search, or take more than 1000 s, which keeps sums over a step in range.
[[nodiscard]] Result<OpCosts> withLayers(OpCosts costs, int layers);

/// A pass through the stage: `layers` times one layer's operators.
[[nodiscard]] Operators stagePass(const Operators& layer, int layers);

/// Cuts splittable ops longer than `longest` into as few slices as bring them down to it, but at most `most`. A
/// matmul of k slices takes time·(1 + loss·(k−1)) in all: smaller matmuls use the device less well.
[[nodiscard]] Operators splitLongOps(const Operators& ops, TimeNs longest, int most, double loss);

/// Takes gradient matmuls in front of an all-reduce apart: first the input's gradient, then its all-reduce, and
/// beside that the weight's gradient, which does not need it. The all-reduce moves to its own stream.
[[nodiscard]] Operators takeWeightGradsApart(const Operators& ops);

} // namespace bubblescope::overlap
