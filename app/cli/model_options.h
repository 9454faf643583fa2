#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/model/model_config.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The options for the model that `run` trains.
class ModelOptions {
public:
    ModelOptions();
    void add(Command command);

    /// Everything except the layers of each stage, which depend on the schedule.
    [[nodiscard]] Result<runtime::ModelConfig> config() const;
    /// The value of --layers.
    [[nodiscard]] std::optional<int> layersPerChunk() const {
        return given_.layers_per_stage > 0 ? std::optional(given_.layers_per_stage) : std::nullopt;
    }
    /// True if the number of layers is that of the whole model, given by a preset or a manual cut.
    [[nodiscard]] bool wholeModel() const;
    /// A note on how a model that is too large for a run was scaled down; empty if it was not.
    [[nodiscard]] std::string note() const;
    /// Cuts the model's layers into the schedule's stages.
    [[nodiscard]] Status cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const;

private:
    std::string preset_ = "tiny";
    std::string text_;
    std::string optimizer_ = "adamw";
    runtime::ModelConfig given_; ///< sizes of 0 were not given, so those of the preset apply
};

} // namespace bubblescope::cli
