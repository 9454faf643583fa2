#pragma once

#include "runtime/accelerator/kernels/digest.h"
#include "runtime/accelerator/kernels/embedding.h"
#include "runtime/accelerator/kernels/norm.h"
#include "runtime/accelerator/kernels/pointwise.h"
#include "runtime/accelerator/kernels/softmax.h"

// A list of all kernels, for code that must name each of them.
#define BUBBLESCOPE_KERNELS_OF(X, T)  \
    X(AddColumnsKernel<T>)            \
    X(AddWithBiasKernel<T>)           \
    X(AdamWKernel<T>)                 \
    X(BiasGradientKernel<T>)          \
    X(CausalSoftmaxKernel<T>)         \
    X(CausalSoftmaxGradientKernel<T>) \
    X(CrossEntropyKernel<T>)          \
    X(DisturbKernel<T>)               \
    X(EmbedKernel<T>)                 \
    X(FlipKernel<T>)                  \
    X(GeluKernel<T>)                  \
    X(GeluGradientKernel<T>)          \
    X(NormaliseKernel<T>)             \
    X(NormaliseAndScaleKernel<T>)     \
    X(NormGradientKernel<T>)          \
    X(NormWeightGradientKernel<T>)    \
    X(PositionTableGradientKernel<T>) \
    X(ScaleKernel<T>)                 \
    X(TokenTableGradientKernel<T>)

#define BUBBLESCOPE_KERNELS(X)       \
    BUBBLESCOPE_KERNELS_OF(X, float) \
    BUBBLESCOPE_KERNELS_OF(X, Bf16)  \
    X(AddKernel)                     \
    X(DigestKernel)                  \
    X(FillKernel)                    \
    X(LossKernel)                    \
    X(RoundKernel)                   \
    X(TokensKernel)                  \
    X(UniformKernel)
