#include "app/cli/model_options.h"

#include "core/base/suggestion.h"
#include "core/cost/model_presets.h"
#include "core/cost/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bubblescope::cli {
namespace {

constexpr int kScale = 64;    ///< of width and sequence, for models that no run here could hold
constexpr int kHeadScale = 8; ///< so that a head of 128 features has 16

/// The published models that are trained scaled down.
std::vector<ModelPresetShape> scaledShapes() {
    constexpr std::int64_t kLeastWidth = 4096; // smaller ones run as they are
    std::vector<ModelPresetShape> out;
    for (const ModelPresetShape& one : modelPresetShapes()) {
        if (one.shape.hidden >= kLeastWidth) out.push_back(one);
    }
    return out;
}

std::vector<std::string> presetNames() {
    std::vector<std::string> names;
    for (const runtime::ModelPreset& preset : runtime::modelPresets())
        names.emplace_back(preset.name);
    for (const ModelPresetShape& one : scaledShapes())
        names.emplace_back(one.name);
    return names;
}

std::string presetsText() {
    std::string names;
    for (const runtime::ModelPreset& preset : runtime::modelPresets())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
    return names;
}

/// As it is trained: one of the runtime's own, or a published model scaled down. Layers keep their number. None for an
/// unknown name.
std::optional<runtime::ModelPreset> presetOf(const std::string& name) {
    if (const runtime::ModelPreset* const own = runtime::findModelPreset(name)) return *own;
    for (const ModelPresetShape& one : scaledShapes()) {
        if (plainName(one.name) != plainName(name)) continue;
        const TransformerShape& shape = one.shape;
        return runtime::ModelPreset{one.name,
                                    one.source,
                                    static_cast<int>(shape.layers),
                                    static_cast<int>(shape.hidden) / kScale,
                                    static_cast<int>(shape.heads) / kHeadScale,
                                    static_cast<int>(shape.sequence) / kScale,
                                    1};
    }
    return std::nullopt;
}

/// Parts of the whole model that follow each other in a pipeline.
int placesOf(const Schedule& schedule) {
    return schedule.stages() / routes(schedule.placement);
}

} // namespace

void ModelOptions::add(Command command) {
    const std::string group = "Model (a GPT over the bytes of a text)";
    const auto number = [&](const char* name, std::optional<int>& value, int most, const char* text) {
        command.addOption(name, value, text).range(1, most).typeName("N").group(group).rare();
    };
    command
        .addOption("--preset", preset_,
                   fmt::format("Its size: {} (tiny); or that of llama3-8b and others, scaled down", presetsText()))
        .typeName("NAME")
        .suggests(presetNames())
        .group(group);
    number("--width", width_, 65536, "Features of a token, in place of the preset's");
    number("--heads", heads_, 1024, "Heads of attention");
    number("--sequence", sequence_, 1 << 20, "Tokens of a sequence");
    number("--batch", batch_, 65536, "Sequences of a micro-batch");
    const Option layers = command.addOption("--layers", layers_, "Layers in each chunk (of the first schedule)")
                              .range(1, 1000)
                              .typeName("N")
                              .group(group)
                              .rare();
    command.addOption("--layer-cut", cut_, "Layers of each stage, in the order of the model")
        .typeName("LIST")
        .delimiter(',')
        .excludes(layers)
        .group(group)
        .rare();
    command.addOption("--text", text_, "The text to train on (a short one that comes along)")
        .typeName("FILE")
        .group(group);
    command.addOption("--learning-rate", optimizer_.learning_rate, "AdamW's step (0.001)")
        .range(0.0F, 10.0F)
        .typeName("X")
        .group(group)
        .rare();
    command.addOption("--seed", seed_, "Seed of weights and data").typeName("N").group(group).rare();
}

Result<runtime::ModelConfig> ModelOptions::config() const {
    const std::optional<runtime::ModelPreset> preset = presetOf(preset_);
    if (!preset)
        return usageError(fmt::format("there is no model preset '{}'{}", preset_, didYouMean(preset_, presetNames())),
                          fmt::format("known: {}", fmt::join(presetNames(), ", ")));
    runtime::ModelConfig model;
    model.width = width_.value_or(preset->width);
    model.heads = heads_.value_or(preset->heads);
    model.sequence = sequence_.value_or(preset->sequence);
    model.batch = batch_.value_or(preset->batch);
    model.layers_per_stage = layers_.value_or(1);
    model.optimizer = optimizer_;
    model.seed = seed_;
    if (!text_.empty()) {
        BUBBLESCOPE_ASSIGN(model.text, runtime::TextData::read(text_));
    }
    return model;
}

bool ModelOptions::wholeModel() const {
    if (!cut_.empty()) return true;
    const std::optional<runtime::ModelPreset> preset = presetOf(preset_);
    return !layers_ && preset && preset->layers > 0;
}

std::string ModelOptions::note() const {
    const std::optional<runtime::ModelPreset> preset = presetOf(preset_);
    if (!preset || runtime::findModelPreset(preset_) != nullptr) return {};
    return fmt::format("{} is trained scaled down: its {} layers with 1/{} of its width and sequence ({} features, {} "
                       "heads, {} bytes of text), as a GPT",
                       preset->name, preset->layers, kScale, preset->width, preset->heads, preset->sequence);
}

Status ModelOptions::cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const {
    if (!wholeModel()) return {};
    if (!cut_.empty()) {
        model.cut = cut_;
        return {};
    }
    BUBBLESCOPE_ASSIGN(const Partition partition, partitionEvenly(presetOf(preset_)->layers, placesOf(schedule)));
    model.cut = partition.layers_per_stage;
    return {};
}

} // namespace bubblescope::cli
