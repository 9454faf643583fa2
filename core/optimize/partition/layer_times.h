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

/// A layer of a model: the times of its ops, and its memory.
struct Layer {
    std::string name;
    OpTimes times;
    std::int64_t memory = 0; ///< in the same unit as the budget
    LayerKind kind = LayerKind::Transformer;
};

/// Reads the layers of a model, in order. An embedding and an output head are layers like any other.
///
/// JSON: {"layers":[{"forward":"1.5ms","backward":"3ms"},…]} or the bare list. Times are text with a unit, or numbers
/// in the document's "unit" ("ms", "us", "ns", "s"). Instead of or in addition to "backward": "input_grad" and
/// "weight_grad". Optional are "name", "memory", "count" (the number of consecutive equal layers) and "kind"
/// ("embedding", "transformer" unless given, "mtp" for multi-token prediction, or "head"). In addition to the list,
/// "embedding" and "head" may define a layer before the first one and a layer after the last one.
///
/// CSV: a header line with these names (forward and backward, or both halves, are required), then one line per layer. A
/// unit may be in the cell (1.5ms) or after the column's name (forward_ms).
///
/// Errors: Input, with the file and the layer or line, if something is missing, negative or without a unit.
[[nodiscard]] Result<std::vector<Layer>> readLayerTimes(const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<Layer>> layerTimesFromJson(std::string_view text, const std::string& where);
[[nodiscard]] Result<std::vector<Layer>> layerTimesFromCsv(std::string_view text, const std::string& where);

} // namespace bubblescope
