#pragma once

#include "core/base/result.h"
#include "core/cost/partition.h"

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Which units of a model each stage holds, as Megatron-core's layout strings state it. Stages are numbered along the
/// pipeline, in loop placement: stage = chunk·p + rank. A stage may be empty.
struct LayerLayout {
    std::vector<std::vector<LayerKind>> stages;

    /// The number of units of each stage, the embedding and the loss among them.
    [[nodiscard]] Partition units() const;
    /// Transformer layers alone, those of multi-token prediction among them: what `advise --layers` counts.
    [[nodiscard]] Partition layers() const;
};

/// The layout of layers that a partition deals to stages. `kinds` has one entry a layer; empty = all are transformer
/// layers. An embedding that is not among them goes before the first layer, and a loss after the last one.
[[nodiscard]] LayerLayout layoutOf(const Partition& partition, std::vector<LayerKind> kinds = {});

/// Reads Megatron-core's syntax of `--pipeline-model-parallel-layout`: one letter a unit (E embedding, t transformer
/// layer, m multi-token prediction, L loss), '|' between stages, `t*5` and `(tt|)*3` for repetitions, commas for the
/// eye. Checks what Megatron-core checks: one E at the beginning, one L at the end, all m after the last t, in one
/// stage that is the last of its rank; and that `pp` ranks get equal numbers of stages. Errors: Usage, naming the
/// character or the stage.
[[nodiscard]] Result<LayerLayout> layoutFromMegatron(std::string_view text, int pp);

/// The same syntax, written: units and stages that repeat are multiplied. Errors: Usage, where Megatron-core would
/// reject the layout.
[[nodiscard]] Result<std::string> layoutToMegatron(const LayerLayout& layout, int pp);

/// DeepSpeed's list of a partition: where each stage begins, and the number of layers at the end, as its PipelineModule
/// keeps it in `parts`: "[0, 5, 9, 13]".
[[nodiscard]] std::string partitionToDeepSpeed(const Partition& partition);

/// Reads such a list, with or without brackets. Errors: Usage, if it does not begin with 0 or does not ascend.
[[nodiscard]] Result<Partition> partitionFromDeepSpeed(std::string_view text);

/// The names of modules on each stage, as JSON, for `module_fqns_per_model_part`. `hugging_face` names them as models
/// of Transformers do (NeMo Automodel), else as torchtitan's own models do. Errors: Usage, for units of multi-token
/// prediction, which have no common name.
[[nodiscard]] Result<std::string> modulesPerStage(const LayerLayout& layout, bool hugging_face);

} // namespace bubblescope
