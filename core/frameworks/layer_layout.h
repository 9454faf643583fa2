#pragma once

#include "core/base/result.h"
#include "core/cost/partition.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Model units on each stage, as in Megatron-core's layout strings. Stages are numbered along the pipeline with loop
/// placement: stage = chunk·p + rank. A stage may be empty.
struct LayerLayout {
    std::vector<std::vector<LayerKind>> stages;

    /// Number of units per stage, including the embedding and the loss.
    [[nodiscard]] Partition units() const;
    /// Number of transformer and multi-token prediction layers per stage, as counted by `advise --layers`.
    [[nodiscard]] Partition layers() const;
};

/// Layout that corresponds to a partition of layers. `kinds` has one entry per layer; empty = all are transformer
/// layers. Adds an embedding before the first layer and a loss after the last one unless they exist.
[[nodiscard]] LayerLayout layoutOf(const Partition& partition, std::vector<LayerKind> kinds = {});

/// Parses Megatron-core's `--pipeline-model-parallel-layout`: one letter per unit (E embedding, t transformer layer, m
/// multi-token prediction, L loss), '|' between stages, `t*5` and `(tt|)*3` for repetitions; commas are ignored.
/// Applies the checks of Megatron-core: one E at the start, one L at the end, all m after the last t, in one stage that
/// is the last of its rank; the `pp` ranks have equal numbers of stages. Also accepts layouts proposed in Megatron-core
/// pull requests: m in several stages, and one L for the main model and one per m, in any of the last
/// stages. Errors: Usage, with the invalid character or stage.
[[nodiscard]] Result<LayerLayout> layoutFromMegatron(std::string_view text, int pp);

/// Writes the syntax of layoutFromMegatron(), with factors for repeated units and stages. Errors: Usage if released
/// versions of Megatron-core would reject the layout.
[[nodiscard]] Result<std::string> layoutToMegatron(const LayerLayout& layout, int pp);

/// A partition in the form of `parts` in DeepSpeed's PipelineModule: the first layer of each stage, followed by the
/// number of layers: "[0, 5, 9, 13]".
[[nodiscard]] std::string partitionToDeepSpeed(const Partition& partition);

/// Parses such a list, with or without brackets. Errors: Usage if the list does not start with 0 or is not ascending.
[[nodiscard]] Result<Partition> partitionFromDeepSpeed(std::string_view text);

/// Names of the modules on each stage, as JSON for `module_fqns_per_model_part`. With `hugging_face`, uses the names of
/// Transformers models (NeMo Automodel), otherwise those of torchtitan's models. Errors: Usage for multi-token
/// prediction units, for which there are no common names.
[[nodiscard]] Result<std::string> modulesPerStage(const LayerLayout& layout, bool hugging_face);

} // namespace bubblescope
