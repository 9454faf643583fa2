#pragma once

#include "runtime/accelerator/accelerator.h"

namespace bubblescope::runtime::cpu {

/// Computes on the calling thread. Factors in float are not rounded: their result is in float.
void multiply(const Gemm& gemm);

} // namespace bubblescope::runtime::cpu
