#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A named model shape.
struct ModelPreset {
    std::string_view name;   ///< "llama3-8b"
    std::string_view source; ///< publication; empty if there is none
    TransformerShape shape;
};

/// Published models, smallest first, for users without a model file. One micro-batch is one sequence
/// of the length used in training; tp is 1.
[[nodiscard]] std::span<const ModelPreset> publishedModels();
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// Finds a preset, ignoring case, '-' and '_'. Errors: Usage; the message lists the presets.
[[nodiscard]] Result<TransformerShape> modelPresetShape(std::string_view name);

} // namespace bubblescope
