#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::overlap {

/// One operator of a pass through a stage, on one tensor-parallel rank. A pass runs its operators in order, and each
/// depends on the previous one. An all-reduce directly follows the compute op that produces its input. Therefore a pass
/// does not start with an all-reduce, and no two all-reduces are adjacent.
struct Operator {
    std::string name;
    TimeNs time{0};
    TimeNs assumed{0};        ///< cost according to a rule's cost table; equal to `time` if the table is correct
    TimeNs weight_grad{0};    ///< for a gradient matmul: the part of `time` spent on the weight gradient
    bool splittable = false;  ///< true if the op may be cut into slices along its rows
    bool all_reduce = false;  ///< true for communication of the tensor-parallel group
    bool own_stream = false;  ///< true for an all-reduce that does not occupy the compute stream
    bool waits_reduce = true; ///< false if the op (a weight gradient) does not need the previous all-reduce
};

using Operators = std::vector<Operator>;

/// Rules for sharing the device between the two streams.
struct StreamRules {
    /// True if all-reduces start as soon as their input is available. With equal priority, an all-reduce waits for the
    /// compute op that was launched directly after its producer, unless that op needs the all-reduce.
    bool high_priority = true;
    TimeNs cut_time{0}; ///< time that resuming an interrupted pass costs on the compute stream
};

/// A stage's operators and their costs, as in a cost-model file.
struct OpCosts {
    std::string name;
    int layers = 1;     ///< layers of a stage
    Operators forward;  ///< operators of one layer
    Operators backward; ///< operators of one layer, in execution order
    StreamRules rules;
    /// Cost of a backward's all-reduce, as assumed by a cutting rule. By default, the cost of the longest all-reduce.
    std::optional<TimeNs> cut_budget;
    int max_slices = 4;    ///< maximum number of slices of an op
    double slice_loss = 0; ///< relative increase in an op's total time per additional slice
};

[[nodiscard]] TimeNs computeTime(const Operators& ops);
[[nodiscard]] TimeNs allReduceTime(const Operators& ops);
[[nodiscard]] TimeNs longestAllReduce(const Operators& ops);

/// The same costs for stages with a different number of layers. Error: Usage if a pass would have more than 2000
/// operators (to bound the search) or take more than 1000 s (to bound sums over a step).
[[nodiscard]] Result<OpCosts> withLayers(OpCosts costs, int layers);

/// A pass through the stage: the operators of one layer, repeated `layers` times.
[[nodiscard]] Operators stagePass(const Operators& layer, int layers);

/// Cuts splittable ops longer than `longest` into as few slices as needed, but at most `max`. A matmul in k slices
/// takes time·(1 + loss·(k−1)) in total, because smaller matmuls use the device less efficiently.
[[nodiscard]] Operators splitLongOps(const Operators& ops, TimeNs longest, int max, double loss);

/// Splits gradient matmuls before an all-reduce: first the input gradient, then its all-reduce in parallel with the
/// weight gradient, which does not need its result. The all-reduce moves to a separate stream.
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
/// TIME is a string with a unit. An operator may also have "all_reduce": true, "splittable": true (a matmul that may be
/// cut along its rows), "weight_grad": TIME (the part of a gradient matmul that computes the weight gradient), and
/// "assumed": TIME (its cost in a rule). Errors: Input, with `where` and the JSON path of the invalid entry. Unknown
/// members are errors too, because they are probably misspelt.
[[nodiscard]] Result<OpCosts> opCostsFromJson(std::string_view text, const std::string& where);

[[nodiscard]] Result<OpCosts> readOpCosts(const std::filesystem::path& file);

} // namespace bubblescope::overlap
