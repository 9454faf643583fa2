#include "runtime/model/model_config.h"

#include <array>

namespace bubblescope::runtime {
namespace {

constexpr ModelPreset preset(std::string_view name, int layers, int width, int heads, int sequence, int batch = 1) {
    TransformerShape shape{layers, width, heads};
    shape.sequence = sequence;
    shape.microbatch = batch;
    return {name, {}, shape};
}

} // namespace

std::span<const ModelPreset> trainedModels() {
    // Widths and depths of the larger models follow GPT-2 (Radford et al. 2019) and common 7B models.
    static constexpr std::array kPresets{
        preset("tiny", 0, 32, 2, 16),              // trains in seconds on a CPU
        preset("mini", 8, 128, 4, 64, 2),          // trains in minutes on a CPU
        preset("gpt2", 12, 768, 12, 1024),         // 86 million weights with a vocabulary of bytes
        preset("gpt2-medium", 24, 1024, 16, 1024), //
        preset("gpt2-xl", 48, 1600, 25, 1024),     // 1.5 billion weights
        preset("7b", 32, 4096, 32, 2048),          // 6.4 billion weights: fills a GPU of 141 GB with AdamW
    };
    return kPresets;
}

} // namespace bubblescope::runtime
