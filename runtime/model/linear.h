#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/tensor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

[[nodiscard]] inline std::int64_t bytesOf(const Tensor& tensor) {
    return tensor.size() * static_cast<std::int64_t>(sizeof(float));
}

/// y = x·weight + bias; also the shape of its gradients.
struct Linear {
    Tensor weight;           ///< inputs x outputs
    Eigen::RowVectorXf bias; ///< outputs
};

[[nodiscard]] Tensor apply(const Linear& linear, const Tensor& input);
/// Gradient for the input, from the gradient of the output.
[[nodiscard]] Tensor inputGradient(const Linear& linear, const Tensor& output_grad);
/// Gradients for weight and bias.
[[nodiscard]] Linear weightGradient(const Tensor& input, const Tensor& output_grad);

/// GELU in its tanh form, and its derivative.
[[nodiscard]] Tensor gelu(const Tensor& x);
[[nodiscard]] Tensor geluDerivative(const Tensor& x);

/// Sums the gradients of a step's pieces in a given order, whatever the order in which they come: float
/// sums depend on their order, and schedules differ in theirs. What comes early is kept until its turn, so a
/// schedule whose backwards follow the order keeps nothing.
class GradientSum {
public:
    explicit GradientSum(std::vector<Piece> order) : order_(std::move(order)) {}

    void add(Piece piece, std::vector<Linear> gradients);

    /// The sum over all pieces, each of which must have been added; then starts anew.
    [[nodiscard]] std::vector<Linear> take();

    /// How many gradients of the parameters' size are held: the sum and those that came early.
    [[nodiscard]] std::int64_t held() const { return (next_ > 0 ? 1 : 0) + static_cast<std::int64_t>(early_.size()); }

private:
    void addNext(std::vector<Linear> gradients);

    std::vector<Piece> order_;
    std::size_t next_ = 0; ///< place in the order
    std::vector<Linear> sum_;
    std::map<Piece, std::vector<Linear>> early_;
};

} // namespace bubblescope::runtime
