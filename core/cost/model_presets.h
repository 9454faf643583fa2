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
    std::string_view source; ///< publication; empty = none
    TransformerShape shape;
};

/// Published models, from the smallest to the largest, for users without a file of their own. One micro-batch is one
/// sequence of the model's training length; tp is 1.
[[nodiscard]] std::span<const ModelPreset> publishedModels();
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// Finds a preset, ignoring case, '-' and '_'. Errors: Usage, listing the presets.
[[nodiscard]] Result<TransformerShape> modelPresetShape(std::string_view name);

} // namespace bubblescope
