#include "runtime/model/stage_layout.h"

#include "runtime/model/transformer_block.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::runtime {

std::vector<PartLayout> stageLayout(const ModelConfig& config, const StageTask& task) {
    using Block = TransformerBlock<float>;
    const std::int64_t width = config.width;
    // A standard deviation of 0.02 as in GPT-2; what adds to the residual stream is smaller by the root of how much
    // does.
    const float scale = 0.02F * std::sqrt(3.0F);
    const int layers = config.layersBefore(task.places);
    const float residual = scale / std::sqrt(2.0F * static_cast<float>(std::max(layers, 1)));
    constexpr std::uint64_t kEnds = std::uint64_t{1} << 40U; // beyond any block's numbers

    std::vector<PartLayout> parts;
    const auto table = [&](std::uint64_t name, std::int64_t rows) {
        parts.push_back({rows, width, 0, name, scale, false, false});
    };
    const auto norm = [&] { parts.push_back({1, width, width, 0, 0.0F, true, false}); };
    const auto matrix = [&](std::uint64_t name, std::int64_t rows, std::int64_t columns, float size) {
        parts.push_back({rows, columns, columns, name, size, false, rows > 1});
    };
    if (task.place == 0) {
        table(kEnds, TextData::kVocabulary);
        table(kEnds + 1, config.sequence);
    }
    const int before = config.layersBefore(task.place);
    for (int i = 0; i < config.layersAt(task.place); ++i) {
        const std::uint64_t name = static_cast<std::uint64_t>(before + i) * Block::kParts;
        norm();
        matrix(name + Block::kColumns, width, 3 * width, scale);
        matrix(name + Block::kProjection, width, width, residual);
        norm();
        matrix(name + Block::kUp, width, 4 * width, scale);
        matrix(name + Block::kDown, 4 * width, width, residual);
    }
    if (task.place == task.places - 1) {
        norm();
        matrix(kEnds + 2, width, TextData::kVocabulary, scale);
    }
    return parts;
}

} // namespace bubblescope::runtime
