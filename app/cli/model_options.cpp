#include "app/cli/model_options.h"

#include "core/cost/partition.h"

#include <fmt/format.h>

namespace bubblescope::cli {
namespace {

std::string presetsText() {
    std::string names;
    for (const runtime::ModelPreset& preset : runtime::modelPresets())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
    return names;
}

/// Parts of the whole model that follow each other in a pipeline.
int placesOf(const Schedule& schedule) {
    return schedule.stages() / routes(schedule.placement);
}

} // namespace

void ModelOptions::add(Command command) {
    const std::string group = "Model (a GPT over the bytes of a text)";
    std::vector<std::string> presets;
    for (const runtime::ModelPreset& preset : runtime::modelPresets())
        presets.emplace_back(preset.name);
    const auto number = [&](const char* name, std::optional<int>& value, int most, const char* text) {
        command.addOption(name, value, text).range(1, most).typeName("N").group(group).rare();
    };
    command.addOption("--preset", preset_, fmt::format("Its size: {} (tiny)", presetsText()))
        .typeName("NAME")
        .suggests(presets)
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
    const runtime::ModelPreset* const preset = runtime::findModelPreset(preset_);
    if (preset == nullptr)
        return usageError(fmt::format("there is no model preset '{}'", preset_), "known: " + presetsText());
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
    const runtime::ModelPreset* const preset = runtime::findModelPreset(preset_);
    return !layers_ && preset != nullptr && preset->layers > 0;
}

Status ModelOptions::cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const {
    if (!wholeModel()) return {};
    if (!cut_.empty()) {
        model.cut = cut_;
        return {};
    }
    BUBBLESCOPE_ASSIGN(const Partition partition,
                       partitionEvenly(runtime::findModelPreset(preset_)->layers, placesOf(schedule)));
    model.cut = partition.layers_per_stage;
    return {};
}

} // namespace bubblescope::cli
