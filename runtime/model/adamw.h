#pragma once

#include "runtime/model/tensor.h"

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

struct AdamWConfig {
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.95F;
    float epsilon = 1e-8F;
    float weight_decay = 0.1F;
};

/// A run of values that are updated alike.
struct ParameterRun {
    float* values = nullptr;
    Eigen::Index count = 0;
    bool decays = false; ///< matrices do; gains, biases and embeddings do not
};

/// AdamW (Loshchilov and Hutter 2019) with bias correction: decay is apart from the gradient's moments.
class AdamW {
public:
    explicit AdamW(const AdamWConfig& config) : config_(config) {}

    /// `gradients` holds those of all runs one after the other; the same runs in the same order on every call.
    void step(const std::vector<ParameterRun>& runs, const Matrix<float>& gradients);

    [[nodiscard]] std::int64_t bytes() const { return bytesOf(first_) + bytesOf(second_); }

private:
    AdamWConfig config_;
    std::int64_t steps_ = 0;
    Eigen::ArrayXf first_; ///< moments
    Eigen::ArrayXf second_;
};

} // namespace bubblescope::runtime
