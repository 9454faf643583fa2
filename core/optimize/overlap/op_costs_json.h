#pragma once

#include "core/optimize/overlap/operators.h"

#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope::overlap {

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
/// along its rows), "weight_grad": TIME (the part of a gradient matmul that computes the weight's gradient), and
/// "assumed": TIME (its cost in a rule). Errors (Input) name `where` and the JSON path of the entry at fault; unknown
/// members are errors too, since they are probably misspelt.
[[nodiscard]] Result<OpCosts> opCostsFromJson(std::string_view text, const std::string& where);

[[nodiscard]] Result<OpCosts> readOpCosts(const std::filesystem::path& file);

} // namespace bubblescope::overlap
