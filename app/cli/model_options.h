#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/model/model_config.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The options that describe the model which `run` trains.
class ModelOptions {
public:
    ModelOptions();
    void add(Command command);

    /// All but the layers of each stage, which depend on the schedule.
    [[nodiscard]] Result<runtime::ModelConfig> config() const;
    /// The value of --layers.
    [[nodiscard]] std::optional<int> layersPerChunk() const {
        return given_.layers_per_stage > 0 ? std::optional(given_.layers_per_stage) : std::nullopt;
    }
    /// True if the model's layers are counted as a whole, by its preset, or cut by hand.
    [[nodiscard]] bool wholeModel() const;
    /// How a model that is too large for a run is scaled down; empty if none is.
    [[nodiscard]] std::string note() const;
    /// Cuts the model's layers into the schedule's stages.
    [[nodiscard]] Status cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const;

private:
    std::string preset_ = "tiny";
    std::string text_;
    runtime::ModelConfig given_; ///< sizes of 0 are not given: the preset's apply
};

} // namespace bubblescope::cli
