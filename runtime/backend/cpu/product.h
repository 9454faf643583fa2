#pragma once

#include "runtime/accelerator/accelerator.h"

namespace bubblescope::runtime::cpu {

/// Computes the product on the calling thread. Float factors are not rounded and require a float result.
void multiply(const Gemm& gemm);

} // namespace bubblescope::runtime::cpu
