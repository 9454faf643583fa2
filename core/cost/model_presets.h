#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A model shape that has a name.
struct ModelPreset {
    std::string_view name;   ///< "llama3-8b"
    std::string_view source; ///< publication; empty = none
    TransformerShape shape;
};

/// Published models, for users who have no file of their own, from the smallest to the largest. One micro-batch is one
/// sequence of the model's training length; tp is 1.
[[nodiscard]] std::span<const ModelPreset> publishedModels();
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// By name, regardless of case, '-' and '_'. Errors: Usage, naming those there are.
[[nodiscard]] Result<TransformerShape> modelPresetShape(std::string_view name);

} // namespace bubblescope
