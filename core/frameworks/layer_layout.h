#pragma once

#include "core/base/result.h"
#include "core/cost/partition.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The units of a model that each stage holds, as in Megatron-core's layout strings. Stages are numbered along the
/// pipeline, in loop placement: stage = chunk·p + rank. A stage may be empty.
struct LayerLayout {
    std::vector<std::vector<LayerKind>> stages;

    /// The number of units of each stage, including the embedding and the loss.
    [[nodiscard]] Partition units() const;
    /// Only transformer layers and those of multi-token prediction: the layers that `advise --layers` counts.
    [[nodiscard]] Partition layers() const;
};

/// The layout of the layers that a partition assigns to stages. `kinds` has one entry per layer; empty = all are
/// transformer layers. Adds an embedding before the first layer and a loss after the last one, if missing.
[[nodiscard]] LayerLayout layoutOf(const Partition& partition, std::vector<LayerKind> kinds = {});

/// Reads Megatron-core's syntax of `--pipeline-model-parallel-layout`: one letter per unit (E embedding, t transformer
/// layer, m multi-token prediction, L loss), '|' between stages, `t*5` and `(tt|)*3` for repetitions; commas are
/// ignored. Checks what Megatron-core checks: one E at the beginning, one L at the end, all m after the last t, in one
/// stage that is the last of its rank; and that `pp` ranks get equal numbers of stages. Also accepts what pull requests
/// of Megatron-core propose: m in several stages, and one L for the main model and one per m, in any of the last
/// stages. Errors: Usage, naming the character or the stage.
[[nodiscard]] Result<LayerLayout> layoutFromMegatron(std::string_view text, int pp);

/// Writes the same syntax, with factors for repeated units and stages. Errors: Usage if released versions of
/// Megatron-core reject the layout.
[[nodiscard]] Result<std::string> layoutToMegatron(const LayerLayout& layout, int pp);

/// DeepSpeed's list of a partition, as its PipelineModule keeps it in `parts`: where each stage begins, and the number
/// of layers at the end: "[0, 5, 9, 13]".
[[nodiscard]] std::string partitionToDeepSpeed(const Partition& partition);

/// Reads such a list, with or without brackets. Errors: Usage if it does not begin with 0 or does not ascend.
[[nodiscard]] Result<Partition> partitionFromDeepSpeed(std::string_view text);

/// The names of the modules on each stage, as JSON, for `module_fqns_per_model_part`. With `hugging_face`, the names of
/// Transformers models (NeMo Automodel), otherwise those of torchtitan's own models. Errors: Usage for units of
/// multi-token prediction, which have no common name.
[[nodiscard]] Result<std::string> modulesPerStage(const LayerLayout& layout, bool hugging_face);

} // namespace bubblescope
