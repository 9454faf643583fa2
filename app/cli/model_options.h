#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/schedule/schedule.h"
#include "runtime/model/model_config.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// The options that describe the model which `run` trains.
class ModelOptions {
public:
    void add(Command command);

    /// All but the layers of each stage, which depend on the schedule.
    [[nodiscard]] Result<runtime::ModelConfig> config() const;
    /// What --layers says.
    [[nodiscard]] std::optional<int> layersPerChunk() const { return layers_; }
    /// True if the model's layers are counted as a whole, by its preset, or cut by hand.
    [[nodiscard]] bool wholeModel() const;
    /// How a model that is too large for a run is scaled down; empty if none is.
    [[nodiscard]] std::string note() const;
    /// Cuts the model's layers into the schedule's stages.
    [[nodiscard]] Status cutLayers(const Schedule& schedule, runtime::ModelConfig& model) const;

private:
    std::string preset_ = "tiny";
    std::optional<int> width_;
    std::optional<int> heads_;
    std::optional<int> sequence_;
    std::optional<int> batch_;
    std::optional<int> layers_;
    std::vector<int> cut_;
    std::string text_;
    runtime::AdamWConfig optimizer_;
    std::uint64_t seed_ = 1;
};

} // namespace bubblescope::cli
