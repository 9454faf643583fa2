#include "core/cost/model_presets.h"

#include "core/base/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

// Parameters of gpt() and llama(): layers, hidden size, heads, key-value heads, feed-forward size, sequence,
// micro-batch, vocabulary.

/// GELU, biases, dropout and an untied output head, as transformerSizes() assumes.
constexpr TransformerShape gpt(TransformerShape shape) {
    shape.vocabulary = 50257;
    shape.flash_attention = true;
    return shape;
}

constexpr TransformerShape llama(TransformerShape shape) {
    shape.swiglu = true;
    shape.dropout = false;
    shape.flash_attention = true;
    return shape;
}

constexpr std::string_view kGpt2 = "Radford et al. 2019";
constexpr std::string_view kGpt3 = "Brown et al. 2020, table 2.1";
constexpr std::string_view kLlama2 = "Touvron et al. 2023";
constexpr std::string_view kLlama3 = "Grattafiori et al. 2024, table 3";
constexpr std::string_view kQwen3 = "Qwen team 2025, table 2, and the models' configurations";
constexpr std::string_view kMegatron = "Narayanan et al. 2021, table 1";

constexpr TransformerShape megatron(TransformerShape shape) {
    shape = gpt(shape);
    shape.vocabulary = 51200;
    return shape;
}

constexpr TransformerShape moe(TransformerShape shape, std::int64_t head_size, const Experts& experts) {
    shape = llama(shape);
    shape.head_size = head_size;
    shape.experts = experts;
    return shape;
}

/// Does not include the layer that predicts a second token.
constexpr TransformerShape deepSeekV3() {
    TransformerShape shape = moe({61, 7168, 128, 128, 18432, 4096, 1, 129280}, 128, {256, 8, 2048, 2048, 3});
    shape.latent = {1536, 512, 64};
    return shape;
}

constexpr std::array<ModelPreset, 26> kPresets{{
    {"gpt2-small", kGpt2, gpt({12, 768, 12, 0, 0, 1024})},
    {"gpt2-medium", kGpt2, gpt({24, 1024, 16, 0, 0, 1024})},
    {"gpt2-large", kGpt2, gpt({36, 1280, 20, 0, 0, 1024})},
    {"gpt2-xl", kGpt2, gpt({48, 1600, 25, 0, 0, 1024})},
    {"megatron-1.7b", kMegatron, megatron({24, 2304, 24, 0, 0, 2048})},
    {"megatron-3.6b", kMegatron, megatron({30, 3072, 32, 0, 0, 2048})},
    {"gpt3-6.7b", kGpt3, gpt({32, 4096, 32, 0, 0, 2048})},
    {"llama2-7b", kLlama2, llama({32, 4096, 32, 32, 11008, 4096, 1, 32000})},
    {"megatron-7.5b", kMegatron, megatron({36, 4096, 32, 0, 0, 2048})},
    {"llama3-8b", kLlama3, llama({32, 4096, 32, 8, 14336, 8192, 1, 128256})},
    {"llama2-13b", kLlama2, llama({40, 5120, 40, 40, 13824, 4096, 1, 32000})},
    {"megatron-18b", kMegatron, megatron({40, 6144, 48, 0, 0, 2048})},
    {"qwen3-30b-a3b", kQwen3, moe({48, 2048, 32, 4, 6144, 4096, 1, 151936}, 128, {128, 8, 768})},
    {"megatron-39b", kMegatron, megatron({48, 8192, 64, 0, 0, 2048})},
    {"mixtral-8x7b", "Jiang et al. 2024, table 1", moe({32, 4096, 32, 8, 14336, 32768, 1, 32000}, 128, {8, 2, 14336})},
    {"llama2-70b", kLlama2, llama({80, 8192, 64, 8, 28672, 4096, 1, 32000})},
    {"llama3-70b", kLlama3, llama({80, 8192, 64, 8, 28672, 8192, 1, 128256})},
    {"megatron-76b", kMegatron, megatron({60, 10240, 80, 0, 0, 2048})},
    {"megatron-145b", kMegatron, megatron({80, 12288, 96, 0, 0, 2048})},
    {"gpt3-175b", kGpt3, gpt({96, 12288, 96, 0, 0, 2048})},
    {"qwen3-235b-a22b", kQwen3, moe({94, 4096, 64, 4, 12288, 4096, 1, 151936}, 128, {128, 8, 1536})},
    {"megatron-310b", kMegatron, megatron({96, 16384, 128, 0, 0, 2048})},
    {"llama3-405b", kLlama3, llama({126, 16384, 128, 8, 53248, 8192, 1, 128256})},
    {"megatron-530b", kMegatron, megatron({105, 20480, 128, 0, 0, 2048})},
    {"deepseek-v3", "DeepSeek-AI 2024, section 4.2", deepSeekV3()},
    {"megatron-1t", kMegatron, megatron({128, 25600, 160, 0, 0, 2048})},
}};

} // namespace

std::span<const ModelPreset> publishedModels() {
    return kPresets;
}

std::vector<std::string> modelPresetNames() {
    std::vector<std::string> names;
    for (const ModelPreset& preset : kPresets)
        names.emplace_back(preset.name);
    return names;
}

Result<TransformerShape> modelPresetShape(std::string_view name) {
    const std::string plain = plainName(name);
    const auto found =
        std::ranges::find_if(kPresets, [&plain](const ModelPreset& preset) { return plainName(preset.name) == plain; });
    if (found != kPresets.end()) return found->shape;
    const std::vector<std::string> names = modelPresetNames();
    return usageError(fmt::format("unknown model preset '{}'{}", name, didYouMean(name, names)),
                      fmt::format("known: {}", fmt::join(names, ", ")));
}

} // namespace bubblescope
