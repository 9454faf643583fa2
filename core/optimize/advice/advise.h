#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

struct AdviceOptions {
    std::optional<ModelSizes> sizes;    ///< tensors of the model, for memory in bytes
    std::optional<std::int64_t> budget; ///< limit per rank
    std::size_t max_suggestions = 8;    ///< maximum number of suggestions
};

/// The memory of an order on its fullest rank.
struct HeldMemory {
    /// Activations at the peak, each counting as what a rank's whole part of the model keeps of a micro-batch of the
    /// run.
    double activations = 0;
    std::optional<std::int64_t> bytes; ///< with everything else on the rank, if sizes are known
    int copies = 1;                    ///< of the model: two if two pipelines run side by side
};

struct Suggestion {
    PipelineChange change;
    std::vector<std::string> texts; ///< the change in the syntax of parseScenario()
    Prediction prediction;
    HeldMemory memory;
};

/// Micro-batches twice as large and half as many. A trace of one size does not show how long ops of another take, only
/// how long they may take.
struct LargerMicrobatches {
    int microbatches = 1;
    double break_even = 1; ///< the step gets shorter if ops take less than this many times their present time
    HeldMemory memory;
};

struct Advice {
    HeldMemory present;
    std::optional<LargerMicrobatches> larger; ///< none if the schedule does not support half as many
    std::vector<Suggestion> suggestions;      ///< the largest gain first; empty if nothing gains half a percent
    int tried = 0;                            ///< orders simulated
};

/// Finds the schedule, chunks, micro-batches and layers that shorten a run's step most: simulates every family and
/// flavor of the registry with the run's mean times, with as many chunks as now and 1, 2 and 4, with micro-batches
/// unchanged and halved, and if ModelCut::layers are known also with the best split of the layers. The best of these,
/// the best that hold no more activations than now, and the best of each single change are then predicted as by
/// predict(). What exceeds the budget is omitted. Errors: those of predict().
[[nodiscard]] Result<Advice> advise(const RunModel& run, const Schedule& order, const ModelCut& cut = {},
                                    const AdviceOptions& options = {}, double most_error = kMaxFitError);

} // namespace bubblescope
