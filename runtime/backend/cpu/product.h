#pragma once

#include "runtime/accelerator/accelerator.h"

namespace bubblescope::runtime::cpu {

/// Computes the product on the calling thread. Float factors are not rounded; their result must be float.
void multiply(const Gemm& gemm);

} // namespace bubblescope::runtime::cpu
