#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/layers.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Sums the gradients of a step's pieces in a given order, whatever the order in which they come: float
/// sums depend on their order, and schedules differ in theirs. What comes early is kept until its turn, so a
/// schedule whose backwards follow the order keeps nothing.
class GradientSum {
public:
    explicit GradientSum(std::vector<Piece> order) : order_(std::move(order)) {}

    void add(Piece piece, Parameters<float> gradients);

    /// The sum over all pieces, each of which must have been added; then starts anew.
    [[nodiscard]] Parameters<float> take();

    /// How many gradients of the parameters' size are held: the sum and those that came early.
    [[nodiscard]] std::int64_t held() const { return (next_ > 0 ? 1 : 0) + static_cast<std::int64_t>(early_.size()); }

private:
    void addNext(Parameters<float> gradients);

    std::vector<Piece> order_;
    std::size_t next_ = 0; ///< place in the order
    Parameters<float> sum_;
    std::map<Piece, Parameters<float>> early_;
};

} // namespace bubblescope::runtime
