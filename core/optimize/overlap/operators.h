#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::overlap {

/// One operator of a pass through a stage, on one tensor-parallel rank. A pass runs its operators in order; each needs
/// the previous one. An all-reduce directly follows the compute op that produces its input: a pass does not begin with
/// one, and no two are adjacent.
struct Operator {
    std::string name;
    TimeNs time{0};
    TimeNs assumed{0};        ///< its cost in a rule's cost table; equals `time` if the table is right
    TimeNs weight_grad{0};    ///< for a gradient matmul: the part of `time` that computes the weight gradient
    bool splittable = false;  ///< may be cut into slices along its rows
    bool all_reduce = false;  ///< communication of the tensor-parallel group
    bool own_stream = false;  ///< an all-reduce that does not occupy the compute stream
    bool waits_reduce = true; ///< false if it does not need the previous all-reduce (a weight gradient)
};

using Operators = std::vector<Operator>;

/// The rules by which the two streams share the device.
struct StreamRules {
    /// An all-reduce of higher priority starts as soon as its input is available. One of equal priority queues behind
    /// the compute op that was launched directly after its producer, unless that op needs it.
    bool high_priority = true;
    TimeNs cut_time{0}; ///< cost on the compute stream of resuming a pass that the other one interrupted
};

/// A stage's operators and their costs, as in a cost-model file.
struct OpCosts {
    std::string name;
    int layers = 1;     ///< layers of a stage
    Operators forward;  ///< for one layer
    Operators backward; ///< for one layer, in the order in which the backward runs them
    StreamRules rules;
    /// The cost that a cutting rule assumes for a backward's all-reduce; if not given, that of the longest one.
    std::optional<TimeNs> cut_budget;
    int max_slices = 4;    ///< maximum number of slices of an op
    double slice_loss = 0; ///< fraction by which each additional slice lengthens the whole op
};

[[nodiscard]] TimeNs computeTime(const Operators& ops);
[[nodiscard]] TimeNs allReduceTime(const Operators& ops);
[[nodiscard]] TimeNs longestAllReduce(const Operators& ops);

/// The same costs for stages with a different number of layers. Usage error if a pass would have more than 2000
/// operators, which bounds the search, or take more than 1000 s, which keeps sums over a step in range.
[[nodiscard]] Result<OpCosts> withLayers(OpCosts costs, int layers);

/// A pass through the stage: `layers` times one layer's operators.
[[nodiscard]] Operators stagePass(const Operators& layer, int layers);

/// Cuts splittable ops longer than `longest` into as few slices as needed, but at most `max`. A matmul in k slices
/// takes time·(1 + loss·(k−1)) in total, because smaller matmuls use the device less efficiently.
[[nodiscard]] Operators splitLongOps(const Operators& ops, TimeNs longest, int max, double loss);

/// Splits gradient matmuls before an all-reduce: first the input gradient, then its all-reduce and, in parallel, the
/// weight gradient, which does not need it. The all-reduce moves to its own stream.
[[nodiscard]] Operators splitWeightGrads(const Operators& ops);

/// Reads a cost-model file:
///
///   {"name": TEXT, "layers_per_stage": N,
///    "forward":  [{"op": NAME, "time": TIME, …}, …]     one layer's operators, in order
///    "backward": [{"op": NAME, "time": TIME, …}, …],
///    "stream_priority": -1 | 0,      of the all-reduce stream: above the compute stream (-1), or equal
///    "cut_time": TIME,               what each cut costs the compute stream (0)
///    "cut_budget": TIME,             assumed cost of a backward's all-reduce in a rule (their longest)
///    "slices": {"most": N, "loss": SHARE},
///    "note": TEXT or list of them}
///
/// TIME is text with a unit. An operator may also have "all_reduce": true, "splittable": true (a matmul that may be cut
/// along its rows), "weight_grad": TIME (the part of a gradient matmul that computes the weight gradient), and
/// "assumed": TIME (its cost in a rule). Errors (Input) name `where` and the JSON path of the offending entry; unknown
/// members are errors too, because they are probably misspelt.
[[nodiscard]] Result<OpCosts> opCostsFromJson(std::string_view text, const std::string& where);

[[nodiscard]] Result<OpCosts> readOpCosts(const std::filesystem::path& file);

} // namespace bubblescope::overlap
