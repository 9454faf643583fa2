#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The published shape of a model, for users who have no file of their own.
struct ModelPresetShape {
    std::string_view name; ///< "llama3-8b"
    std::string_view source;
    TransformerShape shape; ///< one micro-batch is one sequence of the model's training length; tp is 1
};

/// From the smallest to the largest.
[[nodiscard]] std::span<const ModelPresetShape> modelPresetShapes();
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// By name, regardless of case, '-' and '_'. Errors: Usage, naming those there are.
[[nodiscard]] Result<TransformerShape> modelPresetShape(std::string_view name);

} // namespace bubblescope
