#include "core/cost/memory_estimate.h"

#include "core/base/field.h"
#include "core/cost/partition.h"
#include "core/schedule/stage_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace bubblescope {
namespace {

/// No real model has larger sizes, and sums of smaller sizes do not overflow.
constexpr std::int64_t kMaxCounted = std::int64_t{1} << 60U;

std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
    return std::min(a, kMaxCounted) + std::min(b, kMaxCounted) > kMaxCounted ? kMaxCounted : a + b;
}

Result<std::vector<int>> cut(const ModelSizes& sizes, int parts) {
    if (sizes.layers_per_stage.empty()) {
        BUBBLESCOPE_ASSIGN(Partition even, partitionEvenly(static_cast<int>(sizes.layers.size()), parts));
        return std::move(even.layers_per_stage);
    }
    const auto& given = sizes.layers_per_stage;
    const std::int64_t layers = std::accumulate(given.begin(), given.end(), std::int64_t{0});
    if (given.size() != static_cast<std::size_t>(parts) || layers != static_cast<std::int64_t>(sizes.layers.size())) {
        return usageError(fmt::format("\"layers_per_stage\" lists {} layers on {} stages, but the model has {} layers "
                                      "and the schedule {} stages",
                                      layers, given.size(), sizes.layers.size(), parts),
                          "correct the list, or omit it for an even split");
    }
    return given;
}

StageMemory stageOf(const LayerSizes& sum, const ModelSizes& sizes) {
    StageMemory stage;
    const auto bytes = [](std::int64_t parameters, std::int64_t each) {
        return each > 0 && parameters > kMaxCounted / each ? kMaxCounted : parameters * each;
    };
    const std::int64_t shared = sum.parameters - sum.expert_parameters;
    stage.weights = bytes(sum.parameters, sizes.weight_bytes);
    stage.gradients = bytes(sum.parameters, sizes.gradient_bytes);
    stage.optimizer = bytes(shared, sizes.optimizer_bytes) / sizes.optimizer_shards +
                      bytes(sum.expert_parameters, sizes.optimizer_bytes) / sizes.expert_shards;
    stage.activations = {sum.activation, sum.activation - sum.until_weight_grad, sum.until_weight_grad};
    stage.kept_input = sum.input;
    if (sizes.weight_shards > 1) {
        stage.gathered = stage.weights;
        stage.weights /= sizes.weight_shards;
        stage.gradients /= sizes.weight_shards;
    }
    stage.forward_workspace = sum.forward_workspace;
    stage.backward_workspace = sum.backward_workspace;
    return stage;
}

} // namespace

LayerSizes& LayerSizes::operator+=(const LayerSizes& other) {
    parameters = saturatingSum(parameters, other.parameters);
    expert_parameters = saturatingSum(expert_parameters, other.expert_parameters);
    activation = saturatingSum(activation, other.activation);
    if (input == 0) input = other.input; // input of the first layer
    until_weight_grad = saturatingSum(until_weight_grad, other.until_weight_grad);
    forward_workspace = std::max(forward_workspace, other.forward_workspace);
    backward_workspace = std::max(backward_workspace, other.backward_workspace);
    return *this;
}

Result<MemoryModel> memoryModel(const ModelSizes& sizes, const Schedule& schedule) {
    const int apart = routes(schedule.placement);
    BUBBLESCOPE_TRY(rejectEncoders(schedule.placement, "a memory model from tensor sizes"));
    if (StageWays::of(schedule).copies() > 1)
        return usageError("tensor sizes are for one model, but this order also runs copies of a second, smaller one",
                          fmt::format("omit {}", Field("memory_model")));
    BUBBLESCOPE_ASSIGN(const std::vector<int> layers, cut(sizes, schedule.stages() / apart));
    MemoryModel model;
    std::size_t next = 0;
    for (std::size_t part = 0; part < layers.size(); ++part) {
        LayerSizes sum;
        for (int i = 0; i < layers[part]; ++i)
            sum += sizes.layers[next++];
        if (part == 0) sum += sizes.first;
        if (part + 1 == layers.size()) sum += sizes.last;
        // The stage numbers of two pipelines alternate, and each pipeline holds the complete model.
        model.stages.insert(model.stages.end(), static_cast<std::size_t>(apart), stageOf(sum, sizes));
    }
    // A rank holds at most all activations of the step and its fixed memory.
    std::int64_t held = 0;
    for (const StageMemory& stage : model.stages) {
        const std::int64_t each = std::max(stage.activations.forward, stage.activations.weight_grad) +
                                  stage.forward_workspace + stage.backward_workspace;
        const std::int64_t all =
            each > kMaxCounted / schedule.microbatches ? kMaxCounted : each * schedule.microbatches;
        held = saturatingSum(
            held, saturatingSum(all, saturatingSum(stage.weights, saturatingSum(stage.gradients, stage.optimizer))));
    }
    if (held >= kMaxCounted)
        return usageError("the model's tensors exceed an exbibyte", "correct the sizes in the memory model");
    return model;
}

} // namespace bubblescope
