#include "runtime/engine/round_run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// The data in host memory. The messages from op to op order all accesses within a step, the barriers all others.
struct HostData {
    explicit HostData(const MovingStages& moving)
        : weights(static_cast<std::size_t>(moving.forward_stages)), gradients(weights.size()),
          inputs(weights.size(), std::vector<Tensor>(static_cast<std::size_t>(moving.microbatches))) {}

    std::vector<Tensor> weights;             ///< by stage; changed only by the stage's owner, at the end of a step
    std::vector<Tensor> gradients;           ///< by stage
    std::vector<std::vector<Tensor>> inputs; ///< by stage and micro-batch: from the forward to the backward
};

class RoundRank final : public MovingRank {
public:
    RoundRank(MovingRun& run, const RoundOrder& order, HostData& host, std::size_t local)
        : MovingRank(run, local), order_(order), moving_(order.moving), host_(host) {}

private:
    void buildStages() override {
        for (int s = rank_.value; s < moving_.forward_stages; s += moving_.pp) {
            std::unique_ptr<StageModel>& owned = run_.stages[Stage{s}.index()];
            owned = run_.parts.make_stage(run_.plan.taskOf(Stage{s}));
            host_.weights[Stage{s}.index()] = owned->takeWeights();
        }
        for (int position = rank_.value; position < moving_.positions(); position += moving_.pp) {
            std::unique_ptr<StageModel>& worker = workers_[stageAt(position).value];
            if (worker) continue;
            StageTask task = run_.plan.taskOf(stageAt(position));
            task.microbatches = 1; // so that a loss is that of one micro-batch; owners average over all of them
            worker = run_.parts.make_stage(task);
            static_cast<void>(worker->takeWeights());
        }
    }

    [[nodiscard]] Stage stageAt(int position) const { return Stage{moving_.opOf(position, Microbatch{0}).chunk.value}; }

    void runOps() override {
        stored_ = 0;
        TimeNs loaded = stepBegin();
        TimeNs two_visits_ago = stepBegin();
        for (int position = rank_.value; position < moving_.positions(); position += moving_.pp) {
            loaded = std::max(loaded, two_visits_ago) + order_.weights;
            two_visits_ago = lastEnd();
            visit(position, loaded);
        }
    }

    /// Runs all micro-batches of a position, with weights that are loaded at the time `loaded`.
    void visit(int position, TimeNs loaded) {
        const Stage stage = stageAt(position);
        StageModel& worker = *workers_.at(stage.value);
        worker.setWeights(host_.weights[stage.index()], step());
        idleUntil(loaded);
        for (int m = 0; m < moving_.microbatches; ++m)
            runOp(position, Microbatch{m}, worker);
        if (position >= moving_.forward_stages) host_.gradients[stage.index()] = worker.takeGradient();
        static_cast<void>(worker.takeWeights());
    }

    void runOp(int position, Microbatch microbatch, StageModel& worker) {
        const Op op = moving_.opOf(position, microbatch);
        Tensor input;
        TimeNs ready = clock_.freeAt();
        if (position > 0) {
            Taken taken = receive(moving_.rankOf(position - 1), keyAfter(position - 1, microbatch), op);
            input = std::move(taken.message.tensor);
            const TimeNs latency = clock_.paced() && moving_.pp > 1 ? run_.config.times.comm : TimeNs{0};
            ready = std::max(ready, taken.message.sent + latency);
        }
        const Begun begun = begin(op, stageAt(position), ready);
        Tensor output =
            op.kind == OpKind::Forward ? forward(op, worker, std::move(input)) : backward(op, worker, std::move(input));
        const DeviceClock::End end = computed(begun);
        if (position + 1 < moving_.positions())
            send(moving_.rankOf(position + 1), keyAfter(position, microbatch), std::move(output), end.time);
        hold(begun, end);
    }

    /// Where forwards turn into backwards, the message has no tensor.
    [[nodiscard]] MessageKey keyAfter(int position, Microbatch microbatch) const {
        return {position < moving_.forward_stages ? Content::Activation : Content::Gradient, stageAt(position),
                stageAt(position + 1), microbatch};
    }

    [[nodiscard]] Tensor& inputOf(const Op& op) { return host_.inputs[op.chunk.index()][op.microbatch.index()]; }

    Tensor forward(const Op& op, StageModel& worker, Tensor input) {
        const Piece piece = run_.plan.pieceOf(op);
        stored_ += columnBytes(input);
        inputOf(op) = input;
        Tensor output = worker.forward(piece, std::move(input));
        sampleMemory(worker);
        worker.forget(piece);
        if (op.chunk.value + 1 == moving_.forward_stages) run_.losses[op.microbatch.index()] = worker.takeLoss();
        return output;
    }

    Tensor backward(const Op& op, StageModel& worker, Tensor output_grad) {
        const Piece piece = run_.plan.pieceOf(op);
        static_cast<void>(worker.forward(piece, std::exchange(inputOf(op), Tensor())));
        static_cast<void>(worker.takeLoss()); // known from the forward
        sampleMemory(worker);
        Tensor input_grad = worker.backwardInput(piece, std::move(output_grad));
        worker.backwardWeight(piece);
        return input_grad;
    }

    TimeNs gatherGradients(TimeNs end) override { return end; }

    void update() override {
        for (int s = rank_.value; s < moving_.forward_stages; s += moving_.pp) {
            StageModel& owned = *run_.stages[Stage{s}.index()];
            Tensor& weights = host_.weights[Stage{s}.index()];
            owned.setWeights(std::move(weights), step());
            owned.applyGradient(std::exchange(host_.gradients[Stage{s}.index()], Tensor()));
            weights = owned.takeWeights();
        }
    }

    [[nodiscard]] Stage firstOwned() const override { return Stage{rank_.value}; }

    /// The rank's share of host memory, and the visit of a worker.
    void sampleMemory(const StageModel& worker) {
        MemoryUse now = worker.memory();
        for (int s = rank_.value; s < moving_.forward_stages; s += moving_.pp) {
            now += run_.stages[Stage{s}.index()]->memory();
            now.weights += columnBytes(host_.weights[Stage{s}.index()]);
        }
        now.activations += stored_;
        countMemory(now);
    }

    const RoundOrder& order_;
    const MovingStages& moving_;
    HostData& host_;
    std::map<int, std::unique_ptr<StageModel>> workers_; ///< by stage; they have weights only during a visit
    std::int64_t stored_ = 0; ///< bytes of inputs that the rank's forwards have stored in this step
};

} // namespace

Result<MovingRunResult> runMovingStages(const EngineConfig& config, const RoundOrder& order, const EngineParts& parts,
                                        JobControl& control) {
    MovingRun run(config, parts, control);
    HostData host(order.moving);
    std::vector<std::unique_ptr<MovingRank>> ranks;
    for (std::size_t local = 0; local < parts.ranks.size(); ++local)
        ranks.push_back(std::make_unique<RoundRank>(run, order, host, local));
    BUBBLESCOPE_ASSIGN(MovingRunResult result, runMovingRanks(run, ranks));
    for (std::size_t s = 0; s < host.weights.size(); ++s)
        result.engine.stages.front()[s]->setWeights(std::move(host.weights[s]), run.steps);
    return result;
}

} // namespace bubblescope::runtime
