#include "runtime/engine/rank_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// Injects faults inside layers, on ranks without another layer hook.
class FaultHook final : public LayerHook {
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
    void end(std::unique_ptr<LayerReplay>) override {}

private:
    LayerExecutions executions_;
    std::vector<std::pair<Stage, StageModel*>> stages_;
    int step_ = 0;
    Op op_;
    std::optional<LayerInjection> injection_; ///< of the part of a layer that is being computed
};

profiler::RecordRing* ringOf(const EngineConfig& config, std::size_t local) {
    return config.rings.empty() ? nullptr : config.rings[local];
}

} // namespace

RunState::RunState(const EngineConfig& engine_config, JobControl& job_control)
    : config(engine_config), mesh{config.schedule.pp, config.replicas, config.tensor_ranks},
      plan(config.schedule, config.replicas), control(job_control), steps(config.steps),
      losses(static_cast<std::size_t>(config.steps),
             std::vector<double>(static_cast<std::size_t>(plan.routes() * config.replicas))),
      stages(static_cast<std::size_t>(mesh.lanes())) {
    for (auto& lane : stages)
        lane.resize(static_cast<std::size_t>(config.schedule.stages()));
}

RankState::RankState(RunState& run_state, std::size_t local)
    : run(run_state), config(run.config), schedule(config.schedule), transport(*config.ranks[local]),
      place(run.mesh.placeOf(transport.rank())), topology(schedule, run.plan, run.mesh, transport.rank()),
      clock(config.clock, config.pace_tolerance, transport.ended()), faults(config.faults, place.rank, place.tensor),
      record(ringOf(config, local), faults, run.mesh) {
    if (run.mesh.tensor_ranks > 1) sums.emplace(transport, config.clock, topology.tensorGroup());
    if (config.attach) {
        hooks = config.attach({schedule, config.times, faults, transport.rank(), run.mesh, place, ringOf(config, local),
                               transport.ended()});
    }
    if (!hooks.layers && faults.inLayers()) hooks.layers = std::make_shared<FaultHook>(faults);
}

std::size_t RankState::togetherFrom(std::size_t index) const {
    const std::span<const Op> list = ops();
    return list[index].overlapped && index + 1 < list.size() && list[index + 1].overlapped ? 2 : 1;
}

Activity RankState::activity(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) const {
    const TimeNs now = config.clock.now();
    return {kind, step, op, peer, now, std::max(now, due)};
}

std::string RankState::description() const {
    const std::string rank = fmt::format("rank {}", transport.rank().value);
    if (!current) return fmt::format("{} (between ops of step {})", rank, step);
    return fmt::format("{}, {} of step {}", rank, opName(*current), step);
}

} // namespace bubblescope::runtime
