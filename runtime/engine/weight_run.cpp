#include "runtime/engine/weight_run.h"

#include "runtime/clock/device_clock.h"
#include "runtime/engine/rank_threads.h"
#include "runtime/engine/run_ended.h"
#include "runtime/model/data_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr Op kUpdate{OpKind::Optimizer, Microbatch{0}, Chunk{0}};
constexpr int kBetweenTurns = -1; ///< turn of messages before the first and after the last turn

/// State shared by the ranks. Each rank writes its own entries.
struct WeightRunState {
    WeightRunState(const EngineConfig& engine_config, const WeightOrder& weight_order, const EngineParts& engine_parts,
                   JobControl& job_control)
        : config(engine_config), order(weight_order), parts(engine_parts), plan(config.schedule), control(job_control),
          steps(config.steps), losses(static_cast<std::size_t>(order.moving.microbatches)) {
        const auto ranks = static_cast<std::size_t>(order.moving.pp);
        stages.resize(ranks);
        last.pp = order.moving.pp;
        last.microbatches = order.moving.microbatches;
        last.vpp = order.moving.pp;
        last.ranks.resize(ranks);
        last.comm.resize(ranks);
    }

    const EngineConfig& config;
    const WeightOrder& order;
    const EngineParts& parts;
    const DataPlan plan;
    JobControl& control;
    std::atomic<int> steps;                          ///< as RunState::steps
    std::vector<double> losses;                      ///< of the current step, by micro-batch
    std::vector<std::unique_ptr<StageModel>> stages; ///< those of the owners, by stage
    StepTimeline last;                               ///< the latest step
    std::vector<double> step_losses;                 ///< written by the first rank
    std::vector<TimeNs> walls;                       ///< written by the first rank
};

/// One rank. For the rank's thread.
class WeightRank {
public:
    WeightRank(WeightRunState& state, std::size_t local)
        : state_(state), moving_(state.order.moving), transport_(*state.parts.ranks[local]),
          rank_(transport_.rank()), previous_{(rank_.value + moving_.pp - 1) % moving_.pp}, next_{(rank_.value + 1) %
                                                                                                  moving_.pp},
          owned_(ownedBy(moving_, rank_)),
          clock_(state.parts.clock, state.config.paced ? std::optional(state.config.pace_tolerance) : std::nullopt,
                 transport_.ended()) {}

    /// Runs all steps. A failure ends the run for all ranks.
    void run() noexcept {
        failOnException(
            transport_, [this] { runSteps(); }, [this] { return description(); });
        report(Activity::Kind::Done);
    }

    [[nodiscard]] std::int64_t ops() const { return ops_; }
    [[nodiscard]] std::int64_t lateOps() const { return late_ops_; }
    [[nodiscard]] TimeNs maxLateness() const { return max_lateness_; }
    [[nodiscard]] const MemoryUse& memory() const { return memory_; }

private:
    void runSteps() {
        report(Activity::Kind::Starting);
        buildStages();
        clock_.alignTo(barrier(state_.parts.clock.now()));
        for (step_ = 0; goesOn(); ++step_)
            runStep();
    }

    [[nodiscard]] static Stage ownedBy(const MovingWeights& moving, Rank rank) {
        Stage stage{0};
        while (moving.ownerRank(stage) != rank)
            ++stage.value;
        return stage;
    }
    [[nodiscard]] bool inRing() const { return moving_.path != WeightPath::Nodes; }

    void buildStages() {
        state_.stages[owned_.index()] = state_.parts.make_stage(state_.plan.taskOf(owned_));
        for (int s = 0; s < moving_.pp; ++s) {
            StageTask task = state_.plan.taskOf(Stage{s});
            std::erase_if(task.pieces, [this](const Piece& piece) { return moving_.rankOf(piece.sample) != rank_; });
            task.gradient_per_piece = true;
            task.microbatches = 1; // so that a loss is that of one micro-batch; owners average over all of them
            workers_.push_back(state_.parts.make_stage(task));
            static_cast<void>(workers_.back()->takeWeights());
        }
    }

    bool goesOn() {
        if (step_ < state_.steps && state_.config.end_early.stop_requested()) state_.steps = step_ + 1;
        return step_ < state_.steps;
    }

    StageModel& owned() { return *state_.stages[owned_.index()]; }

    /// A copy of the weights of the rank's own stage.
    Tensor copyOwned() {
        Tensor weights = owned().takeWeights();
        Tensor copy = weights;
        owned().setWeights(std::move(weights), step_);
        return copy;
    }

    void runStep() {
        state_.last.ranks[rank_.index()].clear();
        step_begin_ = clock_.freeAt();
        last_end_ = step_begin_;
        inRing() ? runRing() : runOnNode();
        const TimeNs end = barrier(last_end_);
        if (rank_.value == 0) endTimeline(end);
        update(end);
        clock_.alignTo(barrier(clock_.freeAt()));
    }

    void endTimeline(TimeNs end) {
        state_.last.index = step_;
        state_.last.begin = step_begin_;
        state_.last.end = end;
        state_.walls.push_back(end - step_begin_);
        state_.step_losses.push_back(std::accumulate(state_.losses.begin(), state_.losses.end(), 0.0) /
                                     static_cast<double>(moving_.microbatches));
    }

    // ---- Around a ring

    void runRing() {
        forward_ = copyOwned();
        // Backwards visit stages in the opposite order, so weights begin that way around the ring on another rank.
        send(Rank{(owned_.value + 1) % moving_.pp}, {Content::BackwardWeights, owned_, owned_, {}, kBetweenTurns},
             copyOwned(), step_begin_);
        for (int turn = 0; turn < moving_.turns(); ++turn)
            runRingTurn(turn);
        const Stage held = moving_.backwardStage(rank_, moving_.turns() - 1);
        send(moving_.ownerRank(held), {Content::GradientSum, held, held, {}, kBetweenTurns},
             std::exchange(gradients_, Tensor()), last_end_);
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
        for (const OpKind kind : {OpKind::Backward, OpKind::Forward}) {
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
                std::max(start, receiveTaken(neighbour, {Content::Turn, Stage{neighbour.value}, {}, {}, turn}).sent);
        const TimeNs ended = start + messages.time(state_.order.weights, state_.order.gradients);
        clock_.alignTo(std::max(clock_.freeAt(), clock_.paced() ? ended : state_.parts.clock.now()));
    }

    // ---- On nodes

    void runOnNode() {
        next_gradients_ = 0;
        sendWeights(kBetweenTurns, step_begin_);
        receiveWeights(kBetweenTurns, step_begin_);
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
                    clock_.alignTo(clock_.freeAt() + state_.config.times.opTime(kind, Stage{others->chunk.value}));
            }
            if (own.size() == 0) continue;
            const Stage stage{op->chunk.value};
            send(moving_.ownerRank(stage), {Content::GradientSum, stage, stage, op->microbatch}, std::move(own),
                 last_end_);
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
        Message message = receiveTaken(moving_.ownerRank(stage), {Content::ForwardWeights, stage, stage, {}, turn});
        const TimeNs arrival = std::max(start, message.sent) + withinNode(state_.order.weights) +
                               (moving_.ownerNode(stage) == node ? TimeNs{0} : state_.order.between_nodes);
        clock_.alignTo(std::max(clock_.freeAt(), clock_.paced() ? arrival : state_.parts.clock.now()));
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
        addGradients(receiveTaken(nextSender(), nextGradients()).tensor);
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
        throwIfEnded(transport_, state_.control);
        current_ = op;
        const Stage stage{op.chunk.value};
        const TimeNs nominal = state_.config.times.opTime(op.kind, stage);
        const TimeNs begin = clock_.begin(clock_.freeAt(), nominal);
        report(Activity::Kind::Computing, op, {}, begin + nominal);
        StageModel& worker = *workers_[stage.index()];
        Tensor& weights = op.kind == OpKind::Forward || !inRing() ? forward_ : backward_;
        worker.setWeights(std::move(weights), step_);
        compute(op, worker, gradient);
        weights = worker.takeWeights();
        const DeviceClock::End end = finish(begin, nominal);
        last_end_ = end.time;
        state_.last.ranks[rank_.index()].emplace_back(op, begin, end.time);
        current_.reset();
    }

    /// Inputs and outputs stay on the rank; `gradient` receives that of the weights after a backward.
    void compute(const Op& op, StageModel& worker, Tensor& gradient) {
        const Piece piece = state_.plan.pieceOf(op);
        Tensor& passed = passed_[op.microbatch.value];
        if (op.kind == OpKind::Forward) {
            passed = worker.forward(piece, std::move(passed));
            if (op.chunk.value + 1 == moving_.pp) state_.losses[op.microbatch.index()] = worker.takeLoss();
            return;
        }
        passed = worker.backwardInput(piece, std::move(passed));
        worker.backwardWeight(piece);
        gradient = worker.takeGradient();
        if (op.chunk.value == 0) passed_.erase(op.microbatch.value);
    }

    /// Ends an op on the rank's clock.
    DeviceClock::End finish(TimeNs begin, TimeNs nominal) {
        const DeviceClock::End end = clock_.end(begin, nominal);
        max_lateness_ = std::max(max_lateness_, clock_.hold(begin, nominal));
        late_ops_ += end.moved ? 1 : 0;
        ++ops_;
        state_.control.done.fetch_add(1, std::memory_order_relaxed);
        return end;
    }

    /// Receives the gradients of the rank's stage, and updates its weights. All ranks have ended their ops at `end`.
    void update(TimeNs end) {
        throwIfEnded(transport_, state_.control);
        current_ = kUpdate;
        TimeNs travels = moving_.pp > 1 ? state_.order.gradients : TimeNs{0};
        if (inRing()) {
            gradients_ = receive(holderOfGradients(owned_), Content::GradientSum, owned_, kBetweenTurns);
        } else {
            while (next_gradients_ < moving_.microbatches)
                takeGradients();
            travels = withinNode(travels) + (moving_.nodes > 1 ? state_.order.between_nodes : TimeNs{0});
        }
        clock_.alignTo(std::max(clock_.freeAt(), clock_.paced() ? end + travels : end));
        const TimeNs nominal = state_.config.times.opTime(OpKind::Optimizer, owned_);
        const TimeNs begin = clock_.begin(clock_.freeAt(), nominal);
        report(Activity::Kind::Computing, kUpdate, {}, begin + nominal);
        owned().applyGradient(std::exchange(gradients_, Tensor()));
        static_cast<void>(finish(begin, nominal));
        current_.reset();
    }

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
        const auto bytes = [](const Tensor& column) {
            return column.size() * static_cast<std::int64_t>(sizeof(float));
        };
        now.weights += bytes(forward_) + bytes(backward_);
        now.gradients += bytes(gradients_);
        if (now.total() > memory_.total()) memory_ = now;
    }

    [[nodiscard]] std::vector<Rank> neighbours() const {
        return next_ == previous_ ? std::vector{previous_} : std::vector{previous_, next_};
    }

    void send(Rank to, const MessageKey& key, Tensor tensor, TimeNs sent) {
        transport_.send(to, key, {std::move(tensor), sent});
    }
    [[nodiscard]] Message receiveTaken(Rank from, const MessageKey& key) {
        report(Activity::Kind::Receiving, current_.value_or(Op{}), from);
        return receiveOrLeave(transport_, from, key).message;
    }
    [[nodiscard]] Tensor receive(Rank from, Content content, Stage stage, int turn) {
        return receiveTaken(from, {content, stage, stage, {}, turn}).tensor;
    }

    [[nodiscard]] TimeNs barrier(TimeNs time) {
        report(Activity::Kind::AtBarrier);
        return meetOrLeave(transport_, time);
    }

    void report(Activity::Kind kind, const Op& op = {}, Rank peer = {}, TimeNs due = TimeNs{0}) {
        const TimeNs now = state_.parts.clock.now();
        transport_.report({kind, step_, op, peer, now, std::max(now, due)});
    }
    [[nodiscard]] std::string description() const {
        if (!current_) return fmt::format("rank {} (between ops of step {})", rank_.value, step_);
        return fmt::format("rank {}, {} of step {}", rank_.value, opName(*current_), step_);
    }

    WeightRunState& state_;
    const MovingWeights& moving_;
    Transport& transport_;
    const Rank rank_;
    const Rank previous_;
    const Rank next_;
    const Stage owned_;
    DeviceClock clock_;
    std::vector<std::unique_ptr<StageModel>> workers_; ///< by stage; they have weights only during an op
    std::map<int, Tensor> passed_; ///< by micro-batch: the output of its last op, on its way to the next stage
    Tensor forward_;         ///< in a ring, weights of forwardStage() of the turn; on a node, weights of its stage
    Tensor backward_;        ///< in a ring, weights of backwardStage() of the turn
    Tensor gradients_;       ///< in a ring, of backwardStage() of the turn; on a node, of the rank's stage
    int next_gradients_ = 0; ///< micro-batch of the next gradients of the rank's stage; only on nodes
    int step_ = 0;
    std::optional<Op> current_; ///< for messages
    TimeNs step_begin_{0};
    TimeNs last_end_{0}; ///< of the rank's last op
    std::int64_t ops_ = 0;
    std::int64_t late_ops_ = 0;
    TimeNs max_lateness_{0};
    MemoryUse memory_;
};

} // namespace

Result<WeightRunResult> runTravellingWeights(const EngineConfig& config, const WeightOrder& order,
                                             const EngineParts& parts, JobControl& control) {
    WeightRunState state(config, order, parts, control);
    const std::int64_t ops = std::int64_t{order.moving.pp} * (2 * order.moving.microbatches + 1);
    control.total = static_cast<std::uint64_t>(config.steps * ops);
    std::deque<WeightRank> ranks;
    for (std::size_t local = 0; local < parts.ranks.size(); ++local)
        ranks.emplace_back(state, local);
    runRankThreads(parts.ranks, [&ranks](std::size_t local) { ranks[local].run(); });
    if (std::optional<Error> error = parts.ranks.front()->error()) return std::move(*error);

    WeightRunResult result;
    for (const double loss : state.step_losses)
        result.engine.losses.push_back({loss});
    result.engine.stages.push_back(std::move(state.stages));
    for (const WeightRank& rank : ranks) {
        result.engine.memory.push_back(rank.memory());
        result.engine.ops += rank.ops();
        result.engine.late_ops += rank.lateOps();
        result.engine.max_lateness = std::max(result.engine.max_lateness, rank.maxLateness());
    }
    result.last = std::move(state.last);
    result.walls = std::move(state.walls);
    return result;
}

} // namespace bubblescope::runtime
