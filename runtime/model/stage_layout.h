#pragma once

#include "runtime/model/data_plan.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/model_config.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// The parameters of a transformer block, in order.
struct BlockParts {
    enum : std::size_t { kLn1, kQkv, kProjection, kLn2, kFc1, kFc2, kParts };
    /// The number of sums in a forward, or in the input half of a backward, if ranks share the block.
    static constexpr int kSums = 2;
};

/// A parameter of a stage before training, independent of the device. Sizes are for the complete parameter.
struct PartLayout {
    /// How ranks that share the stage divide the parameter.
    enum class Cut : std::uint8_t { Whole, Columns, Rows };

    std::int64_t rows = 0; ///< size of the weights
    std::int64_t columns = 0;
    std::int64_t bias = 0;  ///< number of biases, all zero; 0 = none
    std::uint64_t name = 0; ///< name of the random numbers for the weights in Synthetic::Stream::Weights
    float scale = 0.0F;     ///< scale of those numbers
    bool ones = false;      ///< true if all weights are 1, as for the gain of a normalisation
    bool decays = false;    ///< true if weight decay applies
    Cut cut = Cut::Whole;
    int groups = 1; ///< groups of columns, each of which is divided: queries, keys and values
};

/// The token and position tables on the first stage of the model and of each module, then BlockParts for each block,
/// then the final normalisation and the head on the last stage. Initial weights are determined by the block's number in
/// the complete model, so the division into stages does not affect them.
[[nodiscard]] std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task);

/// The layers at one of `places` positions: its blocks, with the embedding at the first and the head at the last.
[[nodiscard]] LayerRange layersAt(const ModelConfig& config, int place, int places);

/// The number of a part's biases on a rank: the rank's share if columns are divided, otherwise all biases.
[[nodiscard]] std::int64_t biasesOf(const PartLayout& part, const TensorShard& shard);

/// The number of times that an op of this kind sums over the ranks that share the stage; see StageModel::sumsIn().
[[nodiscard]] int sumsIn(OpKind kind, const ModelConfig& config, const StageTask& task);

} // namespace bubblescope::runtime
