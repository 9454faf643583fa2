#pragma once

#include "core/optimize/partition/path_bounds.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// A lower bound on the step from how many whole layers each rank gets, for ranks with several chunks. A path that
/// stays on one rank bounds the step when this rank holds n layers, wherever the cuts are; a step of length T allows
/// each rank so many layers, and they must add up to the model's.
class RankBounds {
public:
    RankBounds(const LayerSums& sums, const std::vector<std::size_t>& rank_of_stage, std::int64_t comm);

    /// The cost of all add() calls for three paths per rank.
    static std::int64_t steps(int layers, const std::vector<std::size_t>& rank_of_stage);

    /// A path that a rank makes long.
    void add(const StepPath& path, std::size_t rank);

    /// No split's step is shorter.
    [[nodiscard]] std::int64_t bound() const;

private:
    const LayerSums& sums_;
    const std::vector<std::size_t>& rank_of_;
    std::int64_t comm_;
    std::size_t most_;                             ///< distinguished numbers of layers on a rank; more count as this
                                                   ///< many
    std::vector<std::vector<std::int64_t>> least_; ///< by rank and its number of layers: the step's minimum length
};

} // namespace bubblescope
