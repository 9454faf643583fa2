#pragma once

#include "core/cost/model_presets.h"
#include "runtime/model/text_data.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// AdamW (Loshchilov and Hutter 2019) with bias correction; SGD with momentum beta1; or Muon (Jordan et al. 2024) for
/// the matrices inside blocks, with AdamW for all other parameters. Weight decay is separate from the moments.
struct OptimizerConfig {
    enum class Rule : std::uint8_t { AdamW, Sgd, Muon };

    Rule rule = Rule::AdamW; ///< devices with separate memory support only AdamW
    float learning_rate = 1e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.95F;
    float epsilon = 1e-8F;
    float weight_decay = 0.1F;
};

/// The model to train: a GPT over byte tokens with learned positions. It is cut into one stage per position in the
/// pipeline (p·v, or p·v/2 if two pipelines hold the model twice). The first stage has the embeddings; the last stage
/// has a final normalisation, a separate head and the cross-entropy. Weights and data are generated from `seed`.
///
/// With encoders, stages are in the order of Encoders. An encoder embeds other tokens of the same text, and its blocks
/// compute one activation per token of the trunk. The trunk's first stage adds these to its own embedding, so the
/// gradient of its first block's input goes to every encoder.
struct ModelConfig {
    int width = 32;           ///< features per token; a multiple of `heads`
    int heads = 2;            ///< attention heads
    int sequence = 16;        ///< tokens per sequence
    int batch = 1;            ///< sequences per micro-batch
    int layers_per_stage = 1; ///< transformer blocks in each chunk
    std::vector<int> cut;     ///< blocks per position in the pipeline, instead of `layers_per_stage`; empty = even
    OptimizerConfig optimizer;
    std::uint64_t seed = 1;
    std::shared_ptr<const TextData> text = TextData::demo();

    [[nodiscard]] int layersAt(int place) const {
        return cut.empty() ? layers_per_stage : cut[static_cast<std::size_t>(place)];
    }
    /// Number of blocks before a position.
    [[nodiscard]] int layersBefore(int place) const {
        int sum = 0;
        for (int i = 0; i < place; ++i)
            sum += layersAt(i);
        return sum;
    }
};

/// Built-in models, from a model that trains in seconds on a CPU to models that fill a large GPU. 0 layers means one
/// layer per stage. The vocabulary is always the 256 byte values.
[[nodiscard]] std::span<const ModelPreset> trainedModels();

} // namespace bubblescope::runtime
