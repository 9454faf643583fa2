#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// The parts of a transformer block, in the order of its parameters.
struct BlockParts {
    enum : std::size_t { kLn1, kQkv, kProjection, kLn2, kFc1, kFc2, kParts };
    /// How many sums a forward, or the input half of a backward, takes where ranks share the block.
    static constexpr int kSums = 2;
};

/// One of a stage's parts as it is before training, on whatever device. Sizes are those of the whole part.
struct PartLayout {
    /// What of it a rank holds that shares the stage with others.
    enum class Cut : std::uint8_t { Whole, Columns, Rows };

    std::int64_t rows = 0; ///< of its weights
    std::int64_t columns = 0;
    std::int64_t bias = 0;  ///< how many, all zero; 0 = the part has none
    std::uint64_t name = 0; ///< of the weights' numbers in Synthetic::Stream::Weights
    float scale = 0.0F;     ///< of those numbers
    bool ones = false;      ///< all weights are 1: gains of a normalisation
    bool decays = false;    ///< the weights
    Cut cut = Cut::Whole;
    int groups = 1; ///< of columns, of each of which a rank holds its share: queries, keys and values
};

/// On the first stage the token and the position table, then BlockParts for each block, on the last stage
/// the final normalisation and the head. What weights begin with follows from the block's number in the whole model,
/// so it is the same however the model is cut.
[[nodiscard]] std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task);

/// How many of a part's biases a rank holds: those of cut columns, else all.
[[nodiscard]] std::int64_t biasesOf(const PartLayout& part, const TensorShard& shard);

/// How often an op of this kind adds up parts with the ranks that share the stage, see StageModel::sumsIn().
[[nodiscard]] int sumsIn(OpKind kind, const ModelConfig& config, const StageTask& task);

} // namespace bubblescope::runtime
