#include "runtime/model/model_config.h"

#include <algorithm>
#include <array>

namespace bubblescope::runtime {

std::span<const ModelPreset> modelPresets() {
    // Widths and depths of the larger ones follow GPT-2 (Radford et al. 2019) and common 7B models.
    static constexpr std::array kPresets{
        ModelPreset{"tiny", "seconds on a CPU", 0, 32, 2, 16, 1},
        ModelPreset{"mini", "minutes on a CPU", 8, 128, 4, 64, 2},
        ModelPreset{"gpt2", "124 million weights with GPT-2's vocabulary, 86 million with bytes", 12, 768, 12, 1024, 1},
        ModelPreset{"gpt2-medium", "", 24, 1024, 16, 1024, 1},
        ModelPreset{"gpt2-xl", "1.5 billion weights", 48, 1600, 25, 1024, 1},
        ModelPreset{"7b", "6.4 billion weights: with AdamW it fills a GPU of 141 GB", 32, 4096, 32, 2048, 1},
    };
    return kPresets;
}

const ModelPreset* findModelPreset(std::string_view name) {
    const auto presets = modelPresets();
    const auto found = std::ranges::find(presets, name, &ModelPreset::name);
    return found == presets.end() ? nullptr : &*found;
}

} // namespace bubblescope::runtime
