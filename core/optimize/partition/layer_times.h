#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/cost/partition.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A layer of a model, with op times and memory.
struct Layer {
    std::string name;
    OpTimes times;
    std::int64_t memory = 0; ///< memory in the unit of the budget
    LayerKind kind = LayerKind::Transformer;
};

/// Reads the layers of a model, in order. An embedding and an output head are also layers.
///
/// JSON: {"layers":[{"forward":"1.5ms","backward":"3ms"},…]}, or only the list. Times are strings with a unit, or
/// numbers in the document's "unit" ("ms", "us", "ns", "s"). "input_grad" and "weight_grad" may replace or complement
/// "backward". Optional members: "name", "memory", "count" (the number of consecutive equal layers) and "kind"
/// ("embedding", "transformer" by default, "mtp" for multi-token prediction, or "head"). "embedding" and "head" outside
/// the list may define a layer before the first one and a layer after the last one.
///
/// CSV: a header line with these names, then one line per layer. Each layer needs forward and backward, or forward and
/// both halves. A unit may be in the cell (1.5ms) or after the column's name (forward_ms).
///
/// Errors: Input, with the file and the layer or line, if something is missing, negative or without a unit.
[[nodiscard]] Result<std::vector<Layer>> readLayerTimes(const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<Layer>> layerTimesFromJson(std::string_view text, const std::string& where);
[[nodiscard]] Result<std::vector<Layer>> layerTimesFromCsv(std::string_view text, const std::string& where);

} // namespace bubblescope
