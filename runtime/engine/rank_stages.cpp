#include "runtime/engine/rank_stages.h"

#include <utility>
#include <vector>

namespace bubblescope::runtime {

void RankStages::build() {
    const EngineConfig& config = rank_.config;
    if (config.devices) rank_.device.emplace(config.devices->open(), rank_.record, rank_.topology);
    if (rank_.device && rank_.hooks.layers) rank_.hooks.layers->useDevice(rank_.device->device());
    if (rank_.device && rank_.sums) rank_.sums->useDevice(rank_.device->device(), rank_.paced(config.times.comm));
    std::vector<std::pair<Stage, StageModel*>> stages;
    for (int c = 0; c < rank_.schedule.vpp; ++c) {
        const Stage stage = rank_.topology.stageOf(Chunk{c});
        StageTask task = rank_.run.plan.taskOf(stage, rank_.place.replica);
        task.watch = rank_.hooks.layers.get();
        if (rank_.sums) task.shard = {rank_.run.mesh.tensor_ranks, rank_.place.tensor, &*rank_.sums};
        auto model = rank_.device ? config.devices->make_stage(rank_.device->device(), task) : config.make_stage(task);
        stages.emplace_back(stage, model.get());
        rank_.run.stages[rank_.run.mesh.laneOf(rank_.place.replica, rank_.place.tensor)][stage.index()] =
            std::move(model);
    }
    if (rank_.hooks.layers) rank_.hooks.layers->watch(std::move(stages));
}

StageModel& RankStages::at(Stage stage) {
    return *rank_.run.stages[rank_.run.mesh.laneOf(rank_.place.replica, rank_.place.tensor)][stage.index()];
}

Tensor RankStages::compute(const Op& op, std::optional<Arrival>& arrival) {
    StageModel& stage = at(rank_.topology.stageOf(op));
    const Piece piece = rank_.run.plan.pieceOf(op, rank_.place.replica);
    Tensor input = arrival ? std::move(arrival->tensor) : Tensor();
    if (!rank_.faults.none() && input.size() > 0) rank_.faults.flip(op, rank_.step, FaultTensor::Input, input);
    if (rank_.hooks.layers && arrival && !arrival->local)
        rank_.hooks.layers->received(op, rank_.topology.stageOf(op), input, *arrival);
    Tensor output;
    switch (op.kind) {
    case OpKind::Forward: output = stage.forward(piece, std::move(input)); break;
    case OpKind::Backward:
        output = stage.backwardInput(piece, std::move(input));
        stage.backwardWeight(piece);
        break;
    case OpKind::BackwardInput: output = stage.backwardInput(piece, std::move(input)); break;
    case OpKind::BackwardWeight: stage.backwardWeight(piece); break;
    case OpKind::Optimizer: break;
    }
    if (!rank_.faults.none() && output.size() > 0) rank_.faults.flip(op, rank_.step, FaultTensor::Output, output);
    return output;
}

int RankStages::sumsIn(std::span<const Op> ops) {
    int sums = 0;
    for (const Op& op : ops)
        sums += at(rank_.topology.stageOf(op)).sumsIn(op.kind);
    return sums;
}

void RankStages::sampleMemory() {
    MemoryUse now;
    for (int c = 0; c < rank_.schedule.vpp; ++c)
        now += at(rank_.topology.stageOf(Chunk{c})).memory();
    if (now.total() > rank_.counts.memory.total()) rank_.counts.memory = now;
}

void RankStages::takeLosses() {
    if (rank_.place.tensor != 0) return; // ranks that share a stage have the same loss
    const int routes = rank_.run.plan.routes();
    for (int c = 0; c < rank_.schedule.vpp; ++c) {
        const Stage stage = rank_.topology.stageOf(Chunk{c});
        if (stage.value + routes < rank_.schedule.stages()) continue;
        const int pipeline = rank_.place.replica * routes + rank_.run.plan.routeOf(stage);
        rank_.run.losses[static_cast<std::size_t>(rank_.step)][static_cast<std::size_t>(pipeline)] =
            at(stage).takeLoss();
    }
}

} // namespace bubblescope::runtime
