#include "runtime/model/stage_memory.h"

#include "runtime/model/data_plan.h"
#include "runtime/model/stage_layout.h"

#include <algorithm>

namespace bubblescope::runtime {
namespace {

constexpr std::int64_t kNumber = sizeof(float);

std::int64_t weightsOf(const ModelConfig& model, const StageTask& task) {
    std::int64_t count = 0;
    for (const PartLayout& part : stageLayout(model, task)) {
        const std::int64_t share = part.cut == PartLayout::Cut::Whole ? 1 : task.shard.size;
        count += part.rows * part.columns / share + biasesOf(part, task.shard);
    }
    return count;
}

StageMemory memoryOf(const ModelConfig& model, const StageTask& task) {
    const std::int64_t shared = task.shard.size;
    const std::int64_t tokens = std::int64_t{model.batch} * model.sequence;
    const std::int64_t hidden = tokens * model.width; // size of one activation
    const std::int64_t layers = model.layersAt(task.place);
    const std::int64_t attention = tokens * model.sequence * model.heads / shared;
    const std::int64_t logits = tokens * TextData::kVocabulary;

    std::int64_t forward = layers * (2 * tokens + 2 * hidden + 8 * hidden / shared + attention);
    std::int64_t until_weights = layers * (6 * hidden + 12 * hidden / shared);
    if (task.embeds()) until_weights += hidden;
    if (task.place == task.places - 1) {
        forward += tokens + hidden + logits;
        until_weights += 2 * hidden + logits;
    }
    const std::int64_t weights = weightsOf(model, task);
    const std::int64_t parts = 2 * (shared - 1) * hidden; // parts of a sum, to and from the other ranks
    const std::int64_t input_half = parts + 2 * hidden + 12 * hidden / shared;
    const std::int64_t weight_half = weights + hidden + 4 * hidden / shared;

    StageMemory memory;
    memory.weights = memory.gradients = kNumber * weights;
    memory.optimizer = 2 * memory.weights; // both moments
    memory.activations = {kNumber * forward, kNumber * (forward - until_weights), kNumber * until_weights};
    memory.kept_input =
        task.embeds() && !task.joins() ? 0 : kNumber * hidden; // the first stage computes it from its tokens
    memory.forward_workspace = kNumber * (parts + 2 * hidden + 4 * hidden / shared);
    memory.backward_workspace =
        kNumber * (std::max<std::int64_t>(0, until_weights - forward) + std::max(input_half, weight_half));
    return memory;
}

} // namespace

MemoryModel memoryModelOf(const ModelConfig& model, const Schedule& schedule, int tensor_ranks) {
    const DataPlan plan(schedule);
    MemoryModel memory;
    for (int s = 0; s < schedule.stages(); ++s) {
        StageTask task = plan.taskOf(Stage{s});
        task.shard.size = tensor_ranks;
        memory.stages.push_back(memoryOf(model, task));
    }
    return memory;
}

} // namespace bubblescope::runtime
