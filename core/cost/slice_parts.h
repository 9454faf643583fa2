#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope {

/// How a sequence is cut into slices. With causal attention, a token attends to all tokens before it, so later slices
/// of equal length take longer.
enum class SliceCut : std::uint8_t {
    Balanced,      ///< slices of equal work: later ones are shorter (Seq1F1B)
    Even,          ///< slices of equal length
    Redistributed, ///< of equal length, and ranks move attention work until all slices take equally long (SlimPipe)
};

/// "balanced", "even" or "redistributed". Error: Usage, for any other name.
[[nodiscard]] Result<SliceCut> sliceCutFromName(std::string_view name);

/// The slices of a sequence, in order.
struct SliceParts {
    std::vector<double> tokens; ///< share of the sequence; they add up to 1
    std::vector<double> time;   ///< time of a slice's op, over the mean of all slices

    /// True if all slices take equally long.
    [[nodiscard]] bool equalTimes() const;
};

/// `attention` is the share of attention in the time of a whole sequence's op, 0 to 1: the part that grows with the
/// square of the sequence. Errors: Usage, for any other share.
[[nodiscard]] Result<SliceParts> sliceParts(SliceCut cut, int slices, double attention);

/// Gives each op and each transfer of a schedule the time of its slice. The times of `costs` are means over slices.
void addSliceTimes(CostModel& costs, const Schedule& schedule, const SliceParts& parts);

} // namespace bubblescope
