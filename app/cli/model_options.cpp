#include "app/cli/model_options.h"

#include "core/base/suggestion.h"
#include "core/cost/model_presets.h"
#include "core/cost/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bubblescope::cli {
namespace {

constexpr int kScale = 64;    ///< factor that reduces width and sequence of models that are too large to run here
constexpr int kHeadScale = 8; ///< so that heads of 128 features are reduced to 16

/// Our models for the runtime, and published models scaled down. The number of layers stays the same.
std::vector<ModelPreset> presets() {
    constexpr std::int64_t kLeastWidth = 4096; // smaller models are not scaled down
    const std::span<const ModelPreset> own = runtime::trainedModels();
    std::vector<ModelPreset> out(own.begin(), own.end());
    for (ModelPreset one : publishedModels()) {
        if (one.shape.hidden < kLeastWidth || one.shape.experts.count > 0) continue;
        one.shape.hidden /= kScale;
        one.shape.heads /= kHeadScale;
        one.shape.sequence /= kScale;
        out.push_back(one);
    }
    return out;
}

std::vector<std::string> presetNames() {
    std::vector<std::string> names;
    for (const ModelPreset& preset : presets())
        names.emplace_back(preset.name);
    return names;
}

std::string ownNames() {
    std::vector<std::string_view> names;
    for (const ModelPreset& preset : runtime::trainedModels())
        names.push_back(preset.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns nothing if the name is unknown.
std::optional<ModelPreset> presetOf(const std::string& name) {
    for (const ModelPreset& preset : presets()) {
        if (plainName(preset.name) == plainName(name)) return preset;
    }
    return std::nullopt;
}

/// Number of consecutive parts of the complete model in the pipeline.
int placesOf(const Schedule& schedule) {
    return schedule.stages() / routes(schedule.placement);
}

} // namespace

ModelOptions::ModelOptions() {
    given_.width = given_.heads = given_.sequence = given_.batch = given_.layers_per_stage = 0;
}

void ModelOptions::add(Command command) {
    const std::string group = "Model (a byte-level GPT)";
    const auto number = [&](const char* name, int& value, int most, const char* text) {
        command.addOption(name, value, text).range(1, most).typeName("N").group(group).rare();
    };
    command
        .addOption("--preset", preset_,
                   fmt::format("Model size: {}; or llama3-8b and others, scaled down (default: tiny)", ownNames()))
        .typeName("NAME")
        .suggests(presetNames())
        .group(group);
    number("--width", given_.width, 65536, "Features per token, instead of the preset's");
    number("--heads", given_.heads, 1024, "Attention heads");
    number("--sequence", given_.sequence, 1 << 20, "Tokens per sequence");
    number("--batch", given_.batch, 65536, "Sequences per micro-batch");
    const Option layers =
        command.addOption("--layers", given_.layers_per_stage, "Layers per chunk of the first schedule")
            .range(1, 1000)
            .typeName("N")
            .group(group)
            .rare();
    command.addOption("--layer-cut", given_.cut, "Layers of each stage, from the first to the last")
        .typeName("LIST")
        .delimiter(',')
        .excludes(layers)
        .group(group)
        .rare();
    command.addOption("--text", text_, "Text to train on (default: a short built-in text)")
        .typeName("FILE")
        .group(group);
    command.addOption("--learning-rate", given_.optimizer.learning_rate, "Learning rate (0.001)")
        .range(0.0F, 10.0F)
        .typeName("X")
        .group(group)
        .rare();
    command
        .addOption("--optimizer", optimizer_,
                   "adamw; sgd, with momentum; or muon, which uses AdamW for all except the matrices in blocks "
                   "(default: adamw)")
        .oneOf({"adamw", "sgd", "muon"})
        .typeName("NAME")
        .group(group)
        .rare();
    command.addOption("--seed", given_.seed, "Seed of weights and data").typeName("N").group(group).rare();
}

Result<runtime::ModelConfig> ModelOptions::config() const {
    const std::optional<ModelPreset> preset = presetOf(preset_);
    if (!preset)
        return usageError(fmt::format("unknown model preset '{}'{}", preset_, didYouMean(preset_, presetNames())),
                          fmt::format("known: {}", fmt::join(presetNames(), ", ")));
    runtime::ModelConfig model = given_;
    model.cut.clear();
    using Rule = runtime::OptimizerConfig::Rule;
    model.optimizer.rule = optimizer_ == "sgd" ? Rule::Sgd : optimizer_ == "muon" ? Rule::Muon : Rule::AdamW;
    const auto complete = [](int& size, std::int64_t of_preset) {
        if (size == 0) size = static_cast<int>(of_preset);
    };
    complete(model.width, preset->shape.hidden);
    complete(model.heads, preset->shape.heads);
    complete(model.sequence, preset->shape.sequence);
    complete(model.batch, preset->shape.microbatch);
    complete(model.layers_per_stage, 1);
    if (!text_.empty()) {
        BUBBLESCOPE_ASSIGN(model.text, runtime::TextData::read(text_));
    }
    return model;
}

bool ModelOptions::wholeModel() const {
    if (!given_.cut.empty()) return true;
    const std::optional<ModelPreset> preset = presetOf(preset_);
    return !layersPerChunk() && preset && preset->shape.layers > 0;
}

std::string ModelOptions::note() const {
    const std::optional<ModelPreset> preset = presetOf(preset_);
    if (!preset || preset->source.empty()) return {};
    return fmt::format(
        "{} is scaled down to a GPT with its {} layers and 1/{} of its width and sequence length ({} features, "
        "{} heads, {} bytes of text)",
        preset->name, preset->shape.layers, kScale, preset->shape.hidden, preset->shape.heads, preset->shape.sequence);
}

Status ModelOptions::cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const {
    if (!wholeModel()) return {};
    if (!given_.cut.empty()) {
        model.cut = given_.cut;
        return {};
    }
    const auto layers = static_cast<int>(presetOf(preset_)->shape.layers);
    BUBBLESCOPE_ASSIGN(const Partition partition, partitionEvenly(layers, placesOf(schedule)));
    model.cut = partition.layers_per_stage;
    return {};
}

} // namespace bubblescope::cli
