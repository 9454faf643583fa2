#pragma once

#include "runtime/model/tensor.h"

#include <map>
#include <vector>

namespace bubblescope::runtime {

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

/// Sums the gradients of a step's micro-batches in the order 0, 1, 2, … whatever the order in which they
/// come: float sums depend on their order, and schedules differ in theirs. What comes early is kept until
/// its turn, so a schedule with ascending backwards keeps nothing.
class GradientSum {
public:
    void add(int microbatch, std::vector<Linear> gradients);

    /// The sum over micro-batches 0 … count−1, all of which must have been added; then starts anew.
    [[nodiscard]] std::vector<Linear> take(int count);

private:
    void addNext(std::vector<Linear> gradients);

    std::vector<Linear> sum_;
    int next_ = 0;
    std::map<int, std::vector<Linear>> early_;
};

} // namespace bubblescope::runtime
