#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// One of a stage's parts as it is before training, on whatever device.
struct PartLayout {
    std::int64_t rows = 0; ///< of its weights
    std::int64_t columns = 0;
    std::int64_t bias = 0;  ///< how many, all zero; 0 = the part has none
    std::uint64_t name = 0; ///< of the weights' numbers in Synthetic::Stream::Weights
    float scale = 0.0F;     ///< of those numbers
    bool ones = false;      ///< all weights are 1: gains of a normalisation
    bool decays = false;    ///< the weights
};

/// On the first stage the token and the position table, then TransformerBlock's parts for each block, on the last stage
/// the final normalisation and the head. What weights begin with follows from the block's number in the whole model,
/// so it is the same however the model is cut.
[[nodiscard]] std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task);

} // namespace bubblescope::runtime
