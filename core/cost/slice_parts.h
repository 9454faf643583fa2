#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Ways to cut a sequence into slices. With causal attention, a token attends to all preceding tokens, so later
/// slices of equal length take longer.
enum class SliceCut : std::uint8_t {
    Balanced,      ///< slices of equal work: later ones are shorter (Seq1F1B)
    Even,          ///< slices of equal length
    Redistributed, ///< slices of equal length; ranks move attention work until all slices take the same time (SlimPipe)
};

/// Parses "balanced", "even" or "redistributed". Error: Usage, for any other name.
[[nodiscard]] Result<SliceCut> sliceCutFromName(std::string_view name);

/// The slices of a sequence, in order.
struct SliceParts {
    std::vector<double> tokens; ///< share of the sequence in each slice; the sum is 1
    std::vector<double> time;   ///< time of a slice's op, relative to the mean over all slices

    /// True if all slices take the same time.
    [[nodiscard]] bool equalTimes() const;
};

/// `attention` is the share of attention in the time of an op on the complete sequence, 0 to 1: the part that grows
/// with the square of the sequence length. Errors: Usage if the share is outside this range.
[[nodiscard]] Result<SliceParts> sliceParts(SliceCut cut, int slices, double attention);

/// Assigns to each op and transfer of a schedule the time of its slice. The times in `costs` are means over slices.
void addSliceTimes(CostModel& costs, const Schedule& schedule, const SliceParts& parts);

} // namespace bubblescope
