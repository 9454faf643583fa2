#include "runtime/engine/rank_state.h"

#include "core/schedule/order_parts.h"
#include "core/schedule/weight_versions.h"
#include "runtime/engine/run_ended.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Injects faults inside layers, on ranks without another hook.
class FaultHook final : public RankHook {
public:
    explicit FaultHook(const RankFaults& faults) : executions_(faults) {}

    void watch(std::vector<std::pair<Stage, StageModel*>> stages) override { stages_ = std::move(stages); }
    void beginStep(int step, TimeNs) override { step_ = step; }
    void beginOp(const Op& op, Stage stage, TimeNs) override {
        op_ = op;
        for (const auto& [number, model] : stages_) {
            if (number == stage) executions_.injectIntoWeights(op, step_, *model);
        }
    }

    [[nodiscard]] bool begin(const LayerCall& call) override {
        injection_.emplace(executions_.injection(executions_.next(op_, step_, call.layer)));
        return false;
    }
    using LayerProbe::touch;
    void touch(CheckedTensor tensor, LiveTensor& values) override { injection_->inject(tensor, values); }
    void end(std::unique_ptr<ReexecutableLayer>) override {}

private:
    LayerExecutions executions_;
    std::vector<std::pair<Stage, StageModel*>> stages_;
    int step_ = 0;
    Op op_;
    std::optional<LayerInjection> injection_; ///< faults of the part of a layer that is being computed
};

profiler::RecordRing* ringOf(const EngineParts& parts, std::size_t local) {
    return parts.rings.empty() ? nullptr : parts.rings[local];
}

} // namespace

RunState::RunState(const EngineConfig& engine_config, const EngineParts& engine_parts, JobControl& job_control)
    : config(engine_config), parts(engine_parts), mesh{config.schedule.pp, config.replicas, config.tensor_ranks},
      plan(config.schedule, config.replicas), order({config.schedule, config.dispatch}), control(job_control),
      steps(config.steps), losses(static_cast<std::size_t>(config.steps * plan.updates()),
                                  std::vector<double>(static_cast<std::size_t>(plan.routes() * config.replicas))),
      stages(static_cast<std::size_t>(mesh.lanes())) {
    for (auto& lane : stages)
        lane.resize(static_cast<std::size_t>(config.schedule.stages()));
    for (StepTimeline& step : observed) {
        step.pp = config.schedule.pp;
        step.microbatches = config.schedule.microbatches;
        step.vpp = config.schedule.vpp;
        step.placement = config.schedule.placement;
        step.ranks.resize(config.schedule.ranks.size());
        step.comm.resize(config.schedule.ranks.size());
    }
}

std::uint64_t RunState::opsOfStep(const Schedule& schedule) const {
    std::uint64_t ops = 0;
    for (const Transport* const transport : parts.ranks) {
        const std::vector<Op>& list = schedule.ranks[mesh.rankOf(transport->rank()).index()];
        const auto listed = std::ranges::count_if(list, [](const Op& op) { return op.kind != OpKind::Optimizer; });
        ops += 1 + static_cast<std::uint64_t>(updatesWithin(list)) + static_cast<std::uint64_t>(listed);
    }
    return ops;
}

RankState::RankState(RunState& run_state, std::size_t local)
    : run(run_state), config(run.config), parts(run.parts), schedule(config.schedule), transport(*parts.ranks[local]),
      place(run.mesh.placeOf(transport.rank())), topology(schedule, run.plan, run.mesh, transport.rank()),
      clock(parts.clock, config.paced ? std::optional(config.pace_tolerance) : std::nullopt, transport.ended()),
      faults(config.faults, place.rank, place.tensor), moves(config.actions, schedule, place.rank),
      record(ringOf(parts, local), faults, run.mesh), order(run.order.of(0)) {
    if (run.mesh.tensor_ranks > 1) sums.emplace(transport, parts.clock, topology.tensorGroup());
    if (parts.attach) {
        hook = parts.attach({schedule, config.times, faults, transport.rank(), run.mesh, place, ringOf(parts, local),
                             transport.ended()});
    }
    if (!hook && faults.inLayers()) hook = std::make_shared<FaultHook>(faults);
}

void RankState::beginStep() {
    order = run.order.of(step);
    if (!parts.next_order || place.replica > 0 || place.tensor > 0) return;
    StepTimeline& observed = run.observed[static_cast<std::size_t>(step % 2)];
    observed.ranks[place.rank.index()].clear();
    observed.comm[place.rank.index()].clear();
    record.observe(&observed.ranks[place.rank.index()], &observed.comm[place.rank.index()]);
}

std::size_t RankState::togetherFrom(std::size_t index) const {
    return opOrPairAt(ops(), index).size();
}

Activity RankState::activity(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) const {
    const TimeNs now = parts.clock.now();
    return {kind, step, op, peer, now, std::max(now, due)};
}

std::string RankState::description() const {
    const std::string rank = fmt::format("rank {}", transport.rank().value);
    if (!current) return fmt::format("{} (between ops of step {})", rank, step);
    return fmt::format("{}, {} of step {}", rank, opName(*current), step);
}

void RankStages::build() {
    const EngineParts& parts = rank_.parts;
    if (parts.devices)
        rank_.device.emplace(parts.devices->open(), rank_.record, rank_.topology, rank_.transport.rank(),
                             parts.kernels);
    if (rank_.device && (rank_.order->graph || parts.next_order)) rank_.device->device().timeHandOvers();
    if (rank_.device && rank_.hook) rank_.hook->useDevice(rank_.device->device());
    if (rank_.device && rank_.sums) rank_.sums->useDevice(rank_.device->device(), rank_.paced(rank_.config.times.comm));
    std::vector<std::pair<Stage, StageModel*>> stages;
    for (int c = 0; c < rank_.schedule.vpp; ++c) {
        const Stage stage = rank_.topology.stageOf(Chunk{c});
        StageTask task = rank_.run.plan.taskOf(stage, rank_.place.replica);
        task.watch = rank_.hook.get();
        for (const int m : rank_.moves.recomputedBy(stage))
            task.recomputed.insert(
                rank_.run.plan.pieceOf(Op(OpKind::Forward, Microbatch{m}, Chunk{c}), rank_.place.replica));
        if (rank_.sums) task.shard = {rank_.run.mesh.tensor_ranks, rank_.place.tensor, &*rank_.sums};
        auto model = rank_.device ? parts.devices->make_stage(rank_.device->device(), task) : parts.make_stage(task);
        stages.emplace_back(stage, model.get());
        rank_.run.stages[rank_.run.mesh.laneOf(rank_.place.replica, rank_.place.tensor)][stage.index()] =
            std::move(model);
    }
    if (rank_.hook) rank_.hook->watch(std::move(stages));
}

void RankStages::rehearse() {
    if (!rank_.device) return;
    if (rank_.sums) rank_.sums->rehearse(true);
    for (const Op& op : rank_.ops()) {
        if (op.kind == OpKind::Optimizer) continue;
        throwIfEnded(rank_.transport);
        at(rank_.topology.stageOf(op)).rehearse(op.kind, rank_.run.plan.pieceOf(op, rank_.place.replica));
    }
    for (int c = 0; c < rank_.schedule.vpp; ++c)
        at(rank_.topology.stageOf(Chunk{c})).endRehearsal();
    if (rank_.sums) rank_.sums->rehearse(false);
    static_cast<void>(rank_.device->device().finishOps());
}

StageModel& RankStages::at(Stage stage) {
    return *rank_.run.stages[rank_.run.mesh.laneOf(rank_.place.replica, rank_.place.tensor)][stage.index()];
}

Tensor RankStages::compute(const Op& op, std::optional<Arrival>& arrival) {
    StageModel& stage = at(rank_.topology.stageOf(op));
    const Piece piece = rank_.run.plan.pieceOf(op, rank_.place.replica);
    Tensor input = arrival ? std::move(arrival->tensor) : Tensor();
    if (arrival && arrival->joined) input += arrival->joined->tensor;
    if (!rank_.faults.none() && input.size() > 0) rank_.faults.flip(op, rank_.step, FaultTensor::Input, input);
    if (rank_.hook && arrival && !arrival->local) rank_.hook->received(op, rank_.topology.stageOf(op), input, *arrival);
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

void RankStages::move(const Action& action) {
    const Chunk chunk = locate(rank_.schedule.placement, rank_.schedule.pp, action.stage).chunk;
    const Piece piece = rank_.run.plan.pieceOf(Op(OpKind::Forward, action.microbatch, chunk), rank_.place.replica);
    StageModel& stage = at(action.stage);
    if (action.kind == ActionKind::Offload) stage.offload(piece);
    if (action.kind == ActionKind::Reload) stage.reload(piece);
    if (action.kind == ActionKind::Recompute) stage.recompute(piece);
    sampleMemory();
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

void RankStages::takeLosses(int update) {
    if (rank_.place.tensor != 0) return; // ranks that share a stage have the same loss
    const int routes = rank_.run.plan.routes();
    for (int c = 0; c < rank_.schedule.vpp; ++c) {
        const Stage stage = rank_.topology.stageOf(Chunk{c});
        if (stage.value + routes < rank_.schedule.stages()) continue;
        const int pipeline = rank_.place.replica * routes + rank_.run.plan.routeOf(stage);
        rank_.run.losses[static_cast<std::size_t>(rank_.step * rank_.run.plan.updates() + update)]
                        [static_cast<std::size_t>(pipeline)] = at(stage).takeLoss();
    }
}

} // namespace bubblescope::runtime
