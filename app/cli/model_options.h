#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/model/model_config.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options for the model that `run` trains.
class ModelOptions {
public:
    ModelOptions();
    void add(Command command);

    /// The complete model, except for the layers of each stage, which depend on the schedule.
    [[nodiscard]] Result<runtime::ModelConfig> config() const;
    /// Value of --layers.
    [[nodiscard]] std::optional<int> layersPerChunk() const {
        return given_.layers_per_stage > 0 ? std::optional(given_.layers_per_stage) : std::nullopt;
    }
    /// True if a preset or a list of layers per stage specifies the number of layers of the complete model.
    [[nodiscard]] bool wholeModel() const;
    /// Describes how a model that is too large for a run was scaled down; empty if it was not scaled.
    [[nodiscard]] std::string note() const;
    /// Divides the model's layers among the stages of the schedule.
    [[nodiscard]] Status cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const;

private:
    std::string preset_ = "tiny";
    std::string text_;
    std::string optimizer_ = "adamw";
    runtime::ModelConfig given_; ///< values from the command line; 0 selects the preset's size
};

} // namespace bubblescope::cli
