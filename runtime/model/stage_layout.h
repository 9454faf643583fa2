#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/model_config.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// The parameters of a transformer block, in their order.
struct BlockParts {
    enum : std::size_t { kLn1, kQkv, kProjection, kLn2, kFc1, kFc2, kParts };
    /// The number of sums that a forward, or the input half of a backward, takes if ranks share the block.
    static constexpr int kSums = 2;
};

/// A parameter of a stage as it is before training, independent of the device. Sizes are those of the whole parameter.
struct PartLayout {
    /// How ranks that share the stage divide it.
    enum class Cut : std::uint8_t { Whole, Columns, Rows };

    std::int64_t rows = 0; ///< of the weights
    std::int64_t columns = 0;
    std::int64_t bias = 0;  ///< number of biases, all zero; 0 = none
    std::uint64_t name = 0; ///< name of the weights' numbers in Synthetic::Stream::Weights
    float scale = 0.0F;     ///< scale of those numbers
    bool ones = false;      ///< whether all weights are 1: the gain of a normalisation
    bool decays = false;    ///< whether the weights decay
    Cut cut = Cut::Whole;
    int groups = 1; ///< groups of columns, each of which is divided: queries, keys and values
};

/// The token and the position table on the first stage, then BlockParts for each block, then the final normalisation
/// and the head on the last stage. Initial weights depend on the number of the block in the whole model, so they are
/// the same however the model is cut.
[[nodiscard]] std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task);

/// The layers of one of `places` places: its blocks, with the embedding on the first and the head on the last.
[[nodiscard]] LayerRange layersAt(const ModelConfig& config, int place, int places);

/// The number of a part's biases on a rank: the rank's share for divided columns, otherwise all.
[[nodiscard]] std::int64_t biasesOf(const PartLayout& part, const TensorShard& shard);

/// How often an op of this kind sums over the ranks that share the stage, see StageModel::sumsIn().
[[nodiscard]] int sumsIn(OpKind kind, const ModelConfig& config, const StageTask& task);

} // namespace bubblescope::runtime
