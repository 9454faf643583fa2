#include "runtime/engine/weight_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

constexpr int kBetweenTurns = -1; ///< turn of messages before the first and after the last turn

class WeightRank final : public MovingRank {
public:
    WeightRank(MovingRun& run, const WeightOrder& order, std::size_t local)
        : MovingRank(run, local), order_(order),
          moving_(order.moving), previous_{(rank_.value + moving_.pp - 1) % moving_.pp}, next_{(rank_.value + 1) %
                                                                                               moving_.pp},
          owned_(ownedBy(moving_, rank_)) {}

private:
    [[nodiscard]] static Stage ownedBy(const MovingWeights& moving, Rank rank) {
        Stage stage{0};
        while (moving.ownerRank(stage) != rank)
            ++stage.value;
        return stage;
    }
    [[nodiscard]] bool inRing() const { return moving_.path != WeightPath::Nodes; }

    void buildStages() override {
        run_.stages[owned_.index()] = run_.parts.make_stage(run_.plan.taskOf(owned_));
        for (int s = 0; s < moving_.pp; ++s) {
            StageTask task = run_.plan.taskOf(Stage{s});
            std::erase_if(task.pieces, [this](const Piece& piece) { return moving_.rankOf(piece.sample) != rank_; });
            task.gradient_per_piece = true;
            task.microbatches = 1; // so that a loss is that of one micro-batch; owners average over all of them
            workers_.push_back(run_.parts.make_stage(task));
            static_cast<void>(workers_.back()->takeWeights());
        }
    }

    StageModel& owned() { return *run_.stages[owned_.index()]; }

    /// A copy of the weights of the rank's own stage.
    Tensor copyOwned() {
        Tensor weights = owned().takeWeights();
        Tensor copy = weights;
        owned().setWeights(std::move(weights), step());
        return copy;
    }

    void runOps() override { inRing() ? runRing() : runOnNode(); }

    // ---- Around a ring

    void runRing() {
        forward_ = copyOwned();
        // Backwards visit stages in the opposite order, so weights begin that way around the ring on another rank.
        send(Rank{(owned_.value + 1) % moving_.pp}, {Content::BackwardWeights, owned_, owned_, {}, kBetweenTurns},
             copyOwned(), stepBegin());
        for (int turn = 0; turn < moving_.turns(); ++turn)
            runRingTurn(turn);
        const Stage held = moving_.backwardStage(rank_, moving_.turns() - 1);
        send(moving_.ownerRank(held), {Content::GradientSum, held, held, {}, kBetweenTurns},
             std::exchange(gradients_, Tensor()), lastEnd());
    }

    void runRingTurn(int turn) {
        if (turn == moving_.pp) {
            const Stage stage = moving_.backwardStage(rank_, turn);
            backward_ = receive(moving_.ownerRank(stage), Content::BackwardWeights, stage, kBetweenTurns);
        }
        const TimeNs start = clock_.freeAt();
        const RingMessages messages = moving_.messagesDuring(turn);
        if (moving_.pp > 1) sendDuring(turn, messages, start);
        Tensor own;
        for (const OpKind kind : {OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Forward}) {
            if (const std::optional<Op> op = moving_.opAt(kind, rank_, turn)) runOp(*op, own);
        }
        if (messages.gradients)
            gradients_ = receive(previous_, Content::GradientSum, moving_.backwardStage(rank_, turn), turn);
        if (own.size() > 0) addGradients(std::move(own));
        if (messages.forward)
            forward_ = receive(previous_, Content::ForwardWeights, moving_.forwardStage(rank_, turn + 1), turn);
        if (messages.backward)
            backward_ = receive(previous_, Content::BackwardWeights, moving_.backwardStage(rank_, turn + 1), turn);
        sampleMemory();
        if (moving_.pp > 1) awaitNeighbours(turn, messages, start);
    }

    void sendDuring(int turn, const RingMessages& messages, TimeNs start) {
        for (const Rank neighbour : neighbours())
            send(neighbour, {Content::Turn, Stage{rank_.value}, {}, {}, turn}, Tensor(), start);
        const auto sendNext = [&](Content content, Stage stage, Tensor tensor) {
            send(next_, {content, stage, stage, {}, turn}, std::move(tensor), start);
        };
        if (messages.gradients)
            sendNext(Content::GradientSum, moving_.backwardStage(rank_, turn - 1), std::exchange(gradients_, Tensor()));
        if (messages.forward) sendNext(Content::ForwardWeights, moving_.forwardStage(rank_, turn), forward_);
        if (messages.backward) sendNext(Content::BackwardWeights, moving_.backwardStage(rank_, turn), backward_);
    }

    /// Waits until the messages of a turn, which begin when both of their ranks have begun the turn, have ended.
    void awaitNeighbours(int turn, const RingMessages& messages, TimeNs start) {
        for (const Rank neighbour : neighbours())
            start =
                std::max(start, receive(neighbour, {Content::Turn, Stage{neighbour.value}, {}, {}, turn}).message.sent);
        const TimeNs ended = start + messages.time(order_.weights, order_.gradients);
        idleUntil(ended);
    }

    // ---- On nodes

    void runOnNode() {
        next_gradients_ = 0;
        sendWeights(kBetweenTurns, stepBegin());
        receiveWeights(kBetweenTurns, stepBegin());
        for (int turn = 0; turn < moving_.turns(); ++turn) {
            const TimeNs start = clock_.freeAt();
            sendWeights(turn, start);
            runNodeOp(turn);
            receiveWeights(turn, start);
            while (next_gradients_ < moving_.microbatches && transport_.peek(nextSender(), nextGradients()))
                takeGradients();
            sampleMemory();
        }
    }

    /// Runs the op of a turn, if any, and sends the gradients of its weights to their owner.
    void runNodeOp(int turn) {
        for (const OpKind kind : {OpKind::Forward, OpKind::Backward}) {
            Tensor own;
            const std::optional<Op> op = moving_.opAt(kind, rank_, turn);
            if (op) {
                runOp(*op, own);
            } else if (const auto others = moving_.opAt(kind, firstOf(moving_.nodeOf(rank_)), turn)) {
                // A rank without a micro-batch keeps its node's time.
                if (clock_.paced())
                    clock_.alignTo(clock_.freeAt() + run_.config.times.opTime(kind, Stage{others->chunk.value}));
            }
            if (own.size() == 0) continue;
            const Stage stage{op->chunk.value};
            send(moving_.ownerRank(stage), {Content::GradientSum, stage, stage, op->microbatch}, std::move(own),
                 lastEnd());
        }
    }

    /// Sends the weights of the rank's stage to the ranks of each node that receives them during the turn.
    void sendWeights(int turn, TimeNs start) {
        for (int node = 0; node < moving_.nodes; ++node) {
            const std::optional<Op> op = moving_.opAwaitingWeights(node, turn);
            if (!op || op->chunk.value != owned_.value) continue;
            for (int r = 0; r < moving_.ranksPerNode(); ++r)
                send(Rank{firstOf(node).value + r}, {Content::ForwardWeights, owned_, owned_, {}, turn}, copyOwned(),
                     start);
        }
    }

    void receiveWeights(int turn, TimeNs start) {
        const int node = moving_.nodeOf(rank_);
        const std::optional<Op> op = moving_.opAwaitingWeights(node, turn);
        if (!op) return;
        const Stage stage{op->chunk.value};
        Message message = receive(moving_.ownerRank(stage), {Content::ForwardWeights, stage, stage, {}, turn}).message;
        const TimeNs arrival = std::max(start, message.sent) + withinNode(order_.weights) +
                               (moving_.ownerNode(stage) == node ? TimeNs{0} : order_.between_nodes);
        idleUntil(arrival);
        forward_ = std::move(message.tensor);
    }

    [[nodiscard]] Rank firstOf(int node) const { return Rank{node * moving_.ranksPerNode()}; }
    [[nodiscard]] TimeNs withinNode(TimeNs time) const { return moving_.ranksPerNode() > 1 ? time : TimeNs{0}; }

    /// The next gradients to add to those of the rank's stage, in the order of micro-batches.
    [[nodiscard]] MessageKey nextGradients() const {
        return {Content::GradientSum, owned_, owned_, Microbatch{next_gradients_}};
    }
    [[nodiscard]] Rank nextSender() const { return moving_.rankOf(Microbatch{next_gradients_}); }
    void takeGradients() {
        addGradients(receive(nextSender(), nextGradients()).message.tensor);
        ++next_gradients_;
    }

    // ---- Ops

    void addGradients(Tensor more) {
        if (gradients_.size() > 0) {
            gradients_ += more;
        } else {
            gradients_ = std::move(more);
        }
    }

    void runOp(const Op& op, Tensor& gradient) {
        const Stage stage{op.chunk.value};
        const Begun begun = begin(op, stage, clock_.freeAt());
        StageModel& worker = *workers_[stage.index()];
        Tensor* const weights = op.kind == OpKind::BackwardWeight         ? nullptr
                                : op.kind == OpKind::Forward || !inRing() ? &forward_
                                                                          : &backward_;
        if (weights != nullptr) worker.setWeights(std::move(*weights), step());
        compute(op, worker, gradient);
        if (weights != nullptr) *weights = worker.takeWeights();
        hold(begun, computed(begun));
    }

    /// Inputs and outputs stay on the rank; `gradient` receives that of the weights. W needs no weights.
    void compute(const Op& op, StageModel& worker, Tensor& gradient) {
        const Piece piece = run_.plan.pieceOf(op);
        if (op.kind == OpKind::Forward) {
            Tensor& passed = passed_[op.microbatch.value];
            passed = worker.forward(piece, std::move(passed));
            if (op.chunk.value + 1 == moving_.pp) run_.losses[op.microbatch.index()] = worker.takeLoss();
            return;
        }
        if (op.kind != OpKind::BackwardWeight) {
            Tensor& passed = passed_[op.microbatch.value];
            passed = worker.backwardInput(piece, std::move(passed));
            if (op.chunk.value == 0) passed_.erase(op.microbatch.value);
        }
        if (op.kind == OpKind::BackwardInput) return;
        worker.backwardWeight(piece);
        gradient = worker.takeGradient();
    }

    TimeNs gatherGradients(TimeNs end) override {
        TimeNs travels = moving_.pp > 1 ? order_.gradients : TimeNs{0};
        if (inRing()) {
            gradients_ = receive(holderOfGradients(owned_), Content::GradientSum, owned_, kBetweenTurns);
        } else {
            while (next_gradients_ < moving_.microbatches)
                takeGradients();
            travels = withinNode(travels) + (moving_.nodes > 1 ? order_.between_nodes : TimeNs{0});
        }
        return clock_.paced() ? end + travels : end;
    }

    void update() override { owned().applyGradient(std::exchange(gradients_, Tensor())); }
    [[nodiscard]] Stage firstOwned() const override { return owned_; }

    /// In a ring, the rank that holds the gradients of a stage after the last turn.
    [[nodiscard]] Rank holderOfGradients(Stage stage) const {
        Rank rank{0};
        while (moving_.backwardStage(rank, moving_.turns() - 1) != stage)
            ++rank.value;
        return rank;
    }

    void sampleMemory() {
        MemoryUse now = owned().memory();
        for (const auto& worker : workers_)
            now += worker->memory();
        now.weights += columnBytes(forward_) + columnBytes(backward_);
        now.gradients += columnBytes(gradients_);
        countMemory(now);
    }

    [[nodiscard]] std::vector<Rank> neighbours() const {
        return next_ == previous_ ? std::vector{previous_} : std::vector{previous_, next_};
    }

    using MovingRank::receive;
    [[nodiscard]] Tensor receive(Rank from, Content content, Stage stage, int turn) {
        return receive(from, {content, stage, stage, {}, turn}).message.tensor;
    }

    const WeightOrder& order_;
    const MovingWeights& moving_;
    const Rank previous_;
    const Rank next_;
    const Stage owned_;
    std::vector<std::unique_ptr<StageModel>> workers_; ///< by stage; they have weights only during an op
    std::map<int, Tensor> passed_; ///< by micro-batch: the output of its last op, on its way to the next stage
    Tensor forward_;         ///< in a ring, weights of forwardStage() of the turn; on a node, weights of its stage
    Tensor backward_;        ///< in a ring, weights of backwardStage() of the turn
    Tensor gradients_;       ///< in a ring, of backwardStage() of the turn; on a node, of the rank's stage
    int next_gradients_ = 0; ///< micro-batch of the next gradients of the rank's stage; only on nodes
};

} // namespace

Result<MovingRunResult> runTravellingWeights(const EngineConfig& config, const WeightOrder& order,
                                             const EngineParts& parts, JobControl& control) {
    MovingRun run(config, parts, control);
    std::vector<std::unique_ptr<MovingRank>> ranks;
    for (std::size_t local = 0; local < parts.ranks.size(); ++local)
        ranks.push_back(std::make_unique<WeightRank>(run, order, local));
    return runMovingRanks(run, ranks);
}

} // namespace bubblescope::runtime
