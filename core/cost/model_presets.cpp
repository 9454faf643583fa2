#include "core/cost/model_presets.h"

#include "core/base/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

/// GELU, biases, dropout and an output head that is not tied, as the sizes count it.
constexpr TransformerShape gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t sequence) {
    TransformerShape shape;
    shape.layers = layers;
    shape.hidden = hidden;
    shape.heads = heads;
    shape.sequence = sequence;
    shape.vocabulary = 50257;
    shape.flash_attention = true;
    return shape;
}

struct Llama {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t ffn = 0;
    std::int64_t vocabulary = 0;
    std::int64_t sequence = 0;
};

constexpr TransformerShape llama(const Llama& model) {
    TransformerShape shape;
    shape.layers = model.layers;
    shape.hidden = model.hidden;
    shape.heads = model.heads;
    shape.kv_heads = model.kv_heads;
    shape.ffn = model.ffn;
    shape.vocabulary = model.vocabulary;
    shape.sequence = model.sequence;
    shape.swiglu = true;
    shape.dropout = false;
    shape.flash_attention = true;
    return shape;
}

constexpr std::string_view kGpt2 = "Radford et al. 2019";
constexpr std::string_view kGpt3 = "Brown et al. 2020, table 2.1";
constexpr std::string_view kLlama2 = "Touvron et al. 2023";
constexpr std::string_view kLlama3 = "Grattafiori et al. 2024, table 3";

constexpr std::array<ModelPresetShape, 12> kPresets{{
    {"gpt2-small", kGpt2, gpt(12, 768, 12, 1024)},
    {"gpt2-medium", kGpt2, gpt(24, 1024, 16, 1024)},
    {"gpt2-large", kGpt2, gpt(36, 1280, 20, 1024)},
    {"gpt2-xl", kGpt2, gpt(48, 1600, 25, 1024)},
    {"gpt3-6.7b", kGpt3, gpt(32, 4096, 32, 2048)},
    {"llama2-7b", kLlama2, llama({32, 4096, 32, 32, 11008, 32000, 4096})},
    {"llama3-8b", kLlama3, llama({32, 4096, 32, 8, 14336, 128256, 8192})},
    {"llama2-13b", kLlama2, llama({40, 5120, 40, 40, 13824, 32000, 4096})},
    {"llama2-70b", kLlama2, llama({80, 8192, 64, 8, 28672, 32000, 4096})},
    {"llama3-70b", kLlama3, llama({80, 8192, 64, 8, 28672, 128256, 8192})},
    {"gpt3-175b", kGpt3, gpt(96, 12288, 96, 2048)},
    {"llama3-405b", kLlama3, llama({126, 16384, 128, 8, 53248, 128256, 8192})},
}};

} // namespace

std::span<const ModelPresetShape> modelPresetShapes() {
    return kPresets;
}

std::vector<std::string> modelPresetNames() {
    std::vector<std::string> names;
    for (const ModelPresetShape& preset : kPresets)
        names.emplace_back(preset.name);
    return names;
}

Result<TransformerShape> modelPresetShape(std::string_view name) {
    const std::string plain = plainName(name);
    const auto found = std::ranges::find_if(
        kPresets, [&plain](const ModelPresetShape& preset) { return plainName(preset.name) == plain; });
    if (found != kPresets.end()) return found->shape;
    const std::vector<std::string> names = modelPresetNames();
    return usageError(fmt::format("there is no model preset '{}'{}", name, didYouMean(name, names)),
                      fmt::format("known: {}", fmt::join(names, ", ")));
}

} // namespace bubblescope
