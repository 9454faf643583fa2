#include "runtime/model/stage_layout.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::runtime {

std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task) {
    using Block = BlockParts;
    const std::int64_t width = config.width;
    // Gives a standard deviation of 0.02, as in GPT-2. Weights that add to the residual stream are scaled down by the
    // square root of the number of such additions.
    const float scale = 0.02F * std::sqrt(3.0F);
    const int layers = config.layersBefore(task.places);
    const float residual = scale / std::sqrt(2.0F * static_cast<float>(std::max(layers, 1)));
    constexpr std::uint64_t kEnds = std::uint64_t{1} << 40U; // above the numbers of all blocks

    std::vector<PartLayout> parts;
    const auto table = [&](std::uint64_t name, std::int64_t rows) {
        parts.push_back({.rows = rows, .columns = width, .name = name, .scale = scale});
    };
    const auto norm = [&] { parts.push_back({.rows = 1, .columns = width, .bias = width, .ones = true}); };
    const auto matrix = [&](std::uint64_t name, std::int64_t rows, std::int64_t columns, float size,
                            PartLayout::Cut cut, int groups = 1) {
        parts.push_back({rows, columns, columns, name, size, false, rows > 1, cut, groups});
    };
    if (task.embeds()) { // the head's name is between those of the trunk and of encoders
        const std::uint64_t name = kEnds + 3 * static_cast<std::uint64_t>(task.encoder);
        table(name, TextData::kVocabulary);
        table(name + 1, config.sequence);
    }
    const int before = config.layersBefore(task.place);
    for (int i = 0; i < config.layersAt(task.place); ++i) {
        const std::uint64_t name = static_cast<std::uint64_t>(before + i) * Block::kParts;
        norm();
        matrix(name + Block::kQkv, width, 3 * width, scale, PartLayout::Cut::Columns, 3);
        matrix(name + Block::kProjection, width, width, residual, PartLayout::Cut::Rows);
        norm();
        matrix(name + Block::kFc1, width, 4 * width, scale, PartLayout::Cut::Columns);
        matrix(name + Block::kFc2, 4 * width, width, residual, PartLayout::Cut::Rows);
    }
    if (task.place == task.places - 1) {
        norm();
        matrix(kEnds + 2, width, TextData::kVocabulary, scale, PartLayout::Cut::Whole);
    }
    return parts;
}

LayerRange layersAt(const ModelConfig& config, int place, int places) {
    const bool first = place == 0;
    const int ends = (first ? 1 : 0) + (place + 1 == places ? 1 : 0);
    return {first ? 0 : 1 + config.layersBefore(place), config.layersAt(place) + ends};
}

std::int64_t biasesOf(const PartLayout& part, const TensorShard& shard) {
    return part.cut == PartLayout::Cut::Columns ? part.bias / shard.size : part.bias;
}

int sumsIn(OpKind kind, const ModelConfig& config, const StageTask& task) {
    const bool adds = kind == OpKind::Forward || producesInputGradient(kind);
    return adds && task.shard.size > 1 ? BlockParts::kSums * config.layersAt(task.place) : 0;
}

} // namespace bubblescope::runtime
