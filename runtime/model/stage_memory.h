#pragma once

#include "core/cost/memory_model.h"
#include "core/schedule/schedule.h"
#include "runtime/model/model_config.h"

namespace bubblescope::runtime {

/// The memory model of the GPT on the CPU: the memory that a rank holds for each stage of the schedule if
/// `tensor_ranks` ranks share it, and the extra memory that its ops need. Each number takes 4 bytes. With n tokens
/// per micro-batch, width h, sequences of s tokens, a heads, vocabulary V and t tensor ranks, the sizes in numbers
/// are:
///
///     weights of a layer    12h²/t + 7h/t + 6h    (matrices, biases of cut columns; norms, biases behind a sum)
///     kept of a layer       F to I: 2n + 2nh + 8nh/t + ans/t    I to W: 6nh + 12nh/t
///     first stage           weights (V + s)h; I to W: nh
///     last stage            weights 2h + (h + 1)V; F to I: n + nh + nV; I to W: 2nh + nV
///     while F runs          2nh + 4nh/t; if ranks share the stage, also 2(t - 1)nh for parts of a sum
///     while B, I, W run     the additional memory of the layers between I and W, plus the larger of
///                           I's 2nh + 12nh/t (and parts of a sum, as for F) and
///                           W's gradients, which are as large as the weights, plus nh + 4nh/t
///
/// Not included: gradients that wait for their turn in the sum (GradientSum), messages in transit, and the optimizer's
/// step. The optimizer's step runs when no activations are held. That step needs two more copies of the gradients, and
/// three more per other copy of the model with which gradients are exchanged.
[[nodiscard]] MemoryModel memoryModelOf(const ModelConfig& model, const Schedule& schedule, int tensor_ranks = 1);

} // namespace bubblescope::runtime
