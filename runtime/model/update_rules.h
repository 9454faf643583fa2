#pragma once

#include "runtime/accelerator/work_queue.h"

#include <cstdint>

namespace bubblescope::runtime {

// Optimizers other than AdamW, for devices that share the host's memory. Each optimizer updates one parameter in place.

/// A matrix of parameters, column-major, with the sum of its gradients and its momentum.
struct UpdatedMatrix {
    float* values = nullptr;
    const float* gradient_sum = nullptr;
    float* momentum = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    [[nodiscard]] std::int64_t size() const { return rows * columns; }
};

struct UpdateRate {
    float microbatches = 1; ///< number of micro-batches in the gradient's sum
    float rate = 0;
    float keep = 1; ///< 1 − learning rate · weight decay, or 1
    float momentum = 0;
};

/// Stochastic gradient descent with momentum.
void stepSgd(const UpdatedMatrix& matrix, const UpdateRate& rate);

/// Muon (Jordan et al. 2024): the direction of Nesterov's momentum, orthogonalised by five Newton–Schulz iterations.
/// Scaled by 0.2·√max(rows, columns), so that learning rates of AdamW suit it (Liu et al. 2025).
void stepMuon(WorkQueue& queue, const UpdatedMatrix& matrix, const UpdateRate& rate);

} // namespace bubblescope::runtime
