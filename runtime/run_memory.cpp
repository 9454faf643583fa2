#include "core/base/bytes.h"
#include "core/base/field.h"
#include "runtime/backend/backend.h"
#include "runtime/model/parameters.h"
#include "runtime/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

// Checks that a run fits into the memory of a device.

namespace bubblescope::runtime {
namespace {

struct LeastNeed {
    std::int64_t parameters = 0; ///< including gradients and moments
    std::int64_t activations = 0;
    std::int64_t checks = 0; ///< at most

    [[nodiscard]] std::int64_t total() const { return parameters + activations + checks; }
};

/// Data kept for a piece from its forward to its weight gradient, in values per feature of a token: the inputs of both
/// normalised halves of a layer, queries, keys and values, the attended values, and the hidden values of the MLP.
std::int64_t valuesKept(int tensor_ranks) {
    constexpr std::int64_t kWhole = 2;
    constexpr std::int64_t kShared = 3 + 1 + 4;
    return kWhole + kShared / tensor_ranks;
}

/// The largest number of layers times pieces that the rank keeps at the same time.
std::int64_t mostKept(const RunConfig& config, const DataPlan& plan, Rank rank) {
    std::int64_t kept = 0;
    std::int64_t most = 0;
    for (const Op& op : config.schedule.ranks[rank.index()]) {
        const Stage stage = config.schedule.stageOf(rank, op.chunk);
        const std::int64_t layers = config.model.layersAt(plan.taskOf(stage).place);
        if (op.kind == OpKind::Forward) kept += layers;
        if (op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight) kept -= layers;
        most = std::max(most, kept);
    }
    return most;
}

/// Memory that attention allocates for each stream that computes it.
std::int64_t attentionWorkspace(const RunConfig& config, std::int64_t rows) {
    const ModelConfig& model = config.model;
    const std::int64_t width = model.width / model.heads;
    return config.backend->attentionWorkspace(
        {model.batch, model.heads / config.tensor_ranks, static_cast<int>(width), rows, model.sequence, 1.0F});
}

LeastNeed needOf(const RunConfig& config, const DataPlan& plan, const MeshPlace& place, int value_bytes) {
    const ModelConfig& model = config.model;
    constexpr std::int64_t kExact = 4;
    constexpr std::int64_t kMoments = 2 * kExact;
    const std::int64_t rounded = value_bytes < kExact ? value_bytes : 0;
    LeastNeed need;
    for (int chunk = 0; chunk < config.schedule.vpp; ++chunk) {
        StageTask task = plan.taskOf(config.schedule.stageOf(place.rank, Chunk{chunk}), place.replica);
        task.shard.size = config.tensor_ranks;
        need.parameters += flatLayout(model, task, 1).size * (kExact + rounded + kExact + kMoments);
    }
    const std::int64_t kept = mostKept(config, plan, place.rank);
    const std::int64_t rows = model.sequence / plan.slices();
    need.activations = kept * model.batch * rows * model.width * valuesKept(config.tensor_ranks) * value_bytes;
    if (config.backend->fusesAttention(model.width / model.heads)) {
        // Attention keeps one number for each query and head.
        need.activations += kept * model.batch * rows * model.heads / config.tensor_ranks * kExact;
        if (kept > 0) need.activations += attentionWorkspace(config, rows);
    } else if (kept > 0) {
        // Attention computes the scores and weights of at least one head at a time, for all tokens that the last slice
        // attends to.
        need.activations += rows * model.sequence * (kExact + value_bytes);
    }
    return need;
}

} // namespace

Status checkDeviceMemory(const RunConfig& config, std::span<const Rank> ranks, const RunChecks* checks) {
    if (!config.backend) return {};
    const std::optional<DeviceMemory> memory = config.backend->memory();
    if (!memory) return {};
    const DataPlan plan(config.schedule, config.replicas);
    const RunMesh mesh{config.schedule.pp, config.replicas, config.tensor_ranks};
    LeastNeed need;
    for (const Rank rank : ranks) {
        const MeshPlace place = mesh.placeOf(rank);
        const LeastNeed own = needOf(config, plan, place, memory->value_bytes);
        need.parameters += own.parameters;
        need.activations += own.activations;
        if (checks == nullptr) continue;
        need.checks += checks->memoryOf(config, place.rank, memory->value_bytes) +
                       attentionWorkspace(config, config.model.sequence / plan.slices());
    }
    if (need.total() <= memory->bytes) return {};
    if (need.total() - need.checks <= memory->bytes) {
        return usageError(
            fmt::format("checks may need {} of the GPU's memory, but only {} of {} are left", formatBytes(need.checks),
                        formatBytes(memory->bytes - need.total() + need.checks), formatBytes(memory->bytes)),
            fmt::format("limit the memory of checks with {}, or omit {}", Field("aadiff_memory"), Field("aadiff")));
    }
    need.checks = 0;
    return usageError(fmt::format("the model does not fit: its {} on this GPU need at least {} ({} for weights, "
                                  "gradients and optimizer, {} for activations), but the GPU has {}",
                                  ranks.size() == 1 ? "rank" : "ranks", formatBytes(need.total()),
                                  formatBytes(need.parameters), formatBytes(need.activations),
                                  formatBytes(memory->bytes)),
                      fmt::format("choose a smaller {}, fewer {} or a smaller {}, or give each rank its own GPU",
                                  Field("preset"), Field("layers"), Field("batch")));
}

} // namespace bubblescope::runtime
