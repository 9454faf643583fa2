#include "core/schedule/action_check.h"

#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace bubblescope {
namespace {

bool has(const LoweredSchedule& lowered, bool (*of)(ActionKind)) {
    return std::ranges::any_of(lowered.actions, [of](const auto& list) {
        return std::ranges::any_of(list, [of](const Action& action) { return of(action.kind); });
    });
}

} // namespace

TransferEnds::TransferEnds(const LoweredSchedule& lowered)
    : stages_(lowered.order.stages()), microbatches_(lowered.order.microbatches) {
    const auto slots = 2 * static_cast<std::size_t>(stages_) * static_cast<std::size_t>(microbatches_);
    sends_.resize(slots);
    receives_.resize(slots);
    computes_.resize(slots);
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        for (std::size_t i = 0; i < lowered.actions[r].size(); ++i)
            take(lowered, Rank{r}, static_cast<std::int32_t>(i));
    }
}

void TransferEnds::take(const LoweredSchedule& lowered, Rank rank, std::int32_t index) {
    const auto put = [&](std::vector<Place>& places, Payload payload, Stage stage, Microbatch m) {
        if (!inRange(stage, m)) return;
        Place& place = places[slot(payload, stage, m)];
        if (!place.found()) place = {rank, index};
    };
    const Action& action = lowered.actions[rank.index()][static_cast<std::size_t>(index)];
    if (isSend(action.kind)) put(sends_, payloadOf(action.kind), consumerOf(action), action.microbatch);
    if (isReceive(action.kind)) put(receives_, payloadOf(action.kind), consumerOf(action), action.microbatch);
    if (action.kind != ActionKind::Compute) return;
    for (const Op& op : opsOf(lowered.order, rank, action)) {
        if (op.kind == OpKind::Forward || producesInputGradient(op.kind))
            put(computes_, payloadOf(op.kind), lowered.order.stageOf(rank, op.chunk), op.microbatch);
    }
}

namespace {

class ActionCheck {
public:
    explicit ActionCheck(const LoweredSchedule& lowered)
        : lowered_(lowered), ends_(lowered), transfers_(lowered.hasTransfers()), waits_(has(lowered, isTransferWait)),
          all_sends_wait_(has(lowered, isSendWait) && !has(lowered, isReceiveWait)),
          unshards_(has(lowered, [](ActionKind kind) { return kind == ActionKind::Unshard; })),
          reduce_waits_(has(lowered, [](ActionKind kind) { return kind == ActionKind::WaitReduceGrad; })) {}

    std::vector<ActionProblem> run() {
        for (std::size_t r = 0; r < lowered_.actions.size(); ++r) {
            rank_ = Rank{r};
            if (transfers_) checkTransfers();
            if (waits_) checkWaits();
            checkWeights();
            checkActivations();
        }
        std::ranges::stable_sort(
            problems_, {}, [](const ActionProblem& problem) { return std::pair(problem.rank.value, problem.action); });
        return std::move(problems_);
    }

private:
    using Place = TransferEnds::Place;

    [[nodiscard]] const std::vector<Action>& list() const { return lowered_.actions[rank_.index()]; }
    [[nodiscard]] std::string name(std::size_t index) const { return actionName(lowered_.order, rank_, list()[index]); }
    [[nodiscard]] Rank rankOf(Stage stage) const {
        return locate(lowered_.order.placement, lowered_.order.pp, stage).rank;
    }
    void add(std::string_view kind, std::size_t index, Sentence message, std::string hint) {
        problems_.push_back({kind, rank_, index, std::move(message), std::move(hint)});
    }
    static std::string cell(ActionKind kind, Stage stage, Microbatch m) {
        return fmt::format("{}{}{}", stage.value, actionWord(kind), m.value);
    }

    void checkTransfers() {
        for (std::size_t i = 0; i < list().size(); ++i) {
            const Action& action = list()[i];
            if (isTransfer(action.kind)) checkEnd(action, i);
            if (action.kind != ActionKind::Compute) continue;
            for (const Op& op : opsOf(lowered_.order, rank_, action)) {
                if (op.kind == OpKind::Forward || producesInputGradient(op.kind)) checkOp(op, i);
            }
        }
    }

    /// Checks that a send or receive is the only one, and that the other end exists.
    void checkEnd(const Action& action, std::size_t index) {
        const Payload payload = payloadOf(action.kind);
        const Stage consumer = consumerOf(action);
        const Stage producer{consumer.value + (payload == Payload::Activation ? -1 : 1)};
        const Microbatch m = action.microbatch;
        const bool exists =
            ends_.inRange(consumer, m) && ends_.inRange(producer, m) && rankOf(consumer) != rankOf(producer);
        if (!exists) {
            add("transfer", index, say("{} does not belong to any transfer between this rank and another", name(index)),
                "remove it");
            return;
        }
        const bool send = isSend(action.kind);
        const Place& first = send ? ends_.send(payload, consumer, m) : ends_.receive(payload, consumer, m);
        if (first.action != static_cast<std::int32_t>(index)) {
            add("transfer", index, say("{} appears twice", name(index)), "remove one");
            return;
        }
        // If the other op exists, checkOp() reports its missing end.
        const Place& other = send ? ends_.receive(payload, consumer, m) : ends_.send(payload, consumer, m);
        const Stage other_stage = send ? consumer : producer;
        if (other.found() || ends_.compute(payload, other_stage, m).found()) return;
        const bool forward = payload == Payload::Activation;
        const ActionKind kind = send ? (forward ? ActionKind::ReceiveForward : ActionKind::ReceiveBackward)
                                     : (forward ? ActionKind::SendForward : ActionKind::SendBackward);
        add("transfer", index,
            say("{} waits forever: rank {} has no {}", name(index), rankOf(other_stage).value,
                cell(kind, other_stage, m)),
            "add the cell, or omit all SEND and RECV cells");
    }

    /// Checks the transfers of an op with input from, or output for, another rank.
    void checkOp(const Op& op, std::size_t index) {
        const bool forward = op.kind == OpKind::Forward;
        const Payload payload = bubblescope::payloadOf(op.kind);
        const Stage stage = lowered_.order.stageOf(rank_, op.chunk);
        const Stage before{stage.value - (forward ? 1 : -1)};
        const Stage after{stage.value + (forward ? 1 : -1)};
        const auto here = static_cast<std::int32_t>(index);
        const std::string op_cell = fmt::format("{}{}{}", stage.value, forward ? 'F' : 'B', op.microbatch.value);
        if (elsewhere(before, op.microbatch)) {
            const Place& receive = ends_.receive(payload, stage, op.microbatch);
            if (!receive.found() || receive.action > here) {
                const auto kind = forward ? ActionKind::ReceiveForward : ActionKind::ReceiveBackward;
                add("transfer", index, say("{} has no {} before it", op_cell, cell(kind, stage, op.microbatch)),
                    "its input comes from another rank: add the cell, or omit all SEND and RECV cells");
            }
        }
        if (elsewhere(after, op.microbatch)) {
            const Place& send = ends_.send(payload, after, op.microbatch);
            if (send.found() && send.action >= here) return;
            add("transfer", index,
                say("{} has no {} after it, so {} waits forever", op_cell,
                    cell(forward ? ActionKind::SendForward : ActionKind::SendBackward, stage, op.microbatch),
                    cell(forward ? ActionKind::ReceiveForward : ActionKind::ReceiveBackward, after, op.microbatch)),
                "add the cell, or omit all SEND and RECV cells");
        }
    }

    [[nodiscard]] bool elsewhere(Stage stage, Microbatch m) const {
        return ends_.inRange(stage, m) && rankOf(stage) != rank_;
    }

    /// PyTorch 2.15 rejects a send without exactly one wait after it. Other runtimes, which also wait for receives, do
    /// not wait for the last sends. A receive needs no wait: its op waits for it.
    void checkWaits() {
        std::set<std::tuple<ActionKind, int, int>> pending; // by kind of wait
        const auto key = [](const Action& wait) {
            return std::tuple(wait.kind, wait.stage.value, wait.microbatch.value);
        };
        for (std::size_t i = 0; i < list().size(); ++i) {
            const Action& action = list()[i];
            if (isTransfer(action.kind)) pending.insert(key(waitFor(action)));
            if (!isTransferWait(action.kind) || pending.erase(key(action)) > 0) continue;
            add("wait", i,
                isSendWait(action.kind) ? say("{} waits for a send, but there is none before it", name(i))
                                        : say("{} waits for a receive, but there is none before it", name(i)),
                "remove it");
        }
        for (std::size_t i = 0; all_sends_wait_ && i < list().size(); ++i) {
            if (isSend(list()[i].kind) && pending.contains(key(waitFor(list()[i]))))
                add("wait", i, say("no action waits for {}", name(i)), "add it, or omit all WAIT_SEND cells");
        }
    }

    void checkWeights() {
        std::set<int> gathered;
        std::optional<int> reducing;
        for (std::size_t i = 0; i < list().size(); ++i) {
            const Action& action = list()[i];
            switch (action.kind) {
            case ActionKind::Unshard:
                if (!gathered.insert(action.stage.value).second)
                    add("weights", i, say("{}: the weights are already gathered", name(i)), "remove it");
                break;
            case ActionKind::Reshard:
                if (gathered.erase(action.stage.value) == 0 && unshards_)
                    add("weights", i, say("{}: the weights were not gathered", name(i)), "remove it");
                break;
            case ActionKind::Compute: checkGathered(action, i, gathered); break;
            case ActionKind::ReduceGrad:
            case ActionKind::WaitReduceGrad: checkReduction(action, i, reducing); break;
            default: break;
            }
        }
    }

    void checkGathered(const Action& action, std::size_t index, const std::set<int>& gathered) {
        if (!unshards_) return;
        for (const Op& op : opsOf(lowered_.order, rank_, action)) {
            const int stage = lowered_.order.stageOf(rank_, op.chunk).value;
            if (op.kind == OpKind::Optimizer || gathered.contains(stage)) continue;
            add("weights", index, say("{} runs while the weights of stage {} are not gathered", name(index), stage),
                fmt::format("put {}UNSHARD before it", stage));
        }
    }

    /// The state of a forward's activations.
    enum class Kept { Not, Here, Offloading, Offloaded, Reloaded, Recomputed };

    void checkActivations() {
        if (!lowered_.movesActivations()) return;
        std::map<std::pair<int, int>, Kept> pieces; // by stage and micro-batch
        for (std::size_t i = 0; i < list().size(); ++i) {
            const Action& action = list()[i];
            if (action.kind == ActionKind::Compute) checkKept(action, i, pieces);
            if (!movesActivations(action.kind)) continue;
            const auto found = pieces.find({action.stage.value, action.microbatch.value});
            Kept none = Kept::Not;
            moveKept(action, i, found == pieces.end() ? none : found->second);
        }
    }

    void checkKept(const Action& action, std::size_t index, std::map<std::pair<int, int>, Kept>& pieces) {
        for (const Op& op : opsOf(lowered_.order, rank_, action)) {
            const std::pair key{lowered_.order.stageOf(rank_, op.chunk).value, op.microbatch.value};
            if (op.kind == OpKind::Forward) pieces.emplace(key, Kept::Here);
            if (!producesInputGradient(op.kind)) continue;
            const auto found = pieces.find(key);
            if (found == pieces.end()) continue;
            if (found->second == Kept::Offloading || found->second == Kept::Offloaded)
                add("activations", index, say("{} runs while its activations are offloaded", name(index)),
                    fmt::format("put {}RELOAD{} before it", key.first, key.second));
            pieces.erase(found);
        }
    }

    void moveKept(const Action& action, std::size_t index, Kept& kept) {
        const auto step = [&](bool allowed, Kept next, const char* hint) {
            if (!allowed)
                add("activations", index, say("{}: the activations are not in the required state", name(index)), hint);
            kept = next;
        };
        switch (action.kind) {
        case ActionKind::Offload: {
            step(kept == Kept::Here, Kept::Offloading, "offload activations once, between their F and their backward");
            const bool exists = action.peer < lowered_.order.pp && action.peer != rank_.value;
            if (!exists)
                add("activations", index, say("{} specifies a rank that cannot store the activations", name(index)),
                    "name another rank of the pipeline, or none for the host");
            break;
        }
        case ActionKind::WaitOffload:
            step(kept == Kept::Offloading, Kept::Offloaded, "put it between OFFLOAD and RELOAD");
            break;
        case ActionKind::Reload:
            step(kept == Kept::Offloading || kept == Kept::Offloaded, Kept::Reloaded, "put OFFLOAD before it");
            break;
        case ActionKind::Recompute:
            step(kept == Kept::Here, Kept::Recomputed,
                 "recompute activations once, between their F and their backward");
            break;
        default: break;
        }
    }

    void checkReduction(const Action& action, std::size_t index, std::optional<int>& reducing) {
        if (!reduce_waits_) return;
        const int stage = action.stage.value;
        if (action.kind == ActionKind::ReduceGrad) {
            if (reducing)
                add("weights", index, say("{} starts without waiting for {}REDUCE_GRAD", name(index), *reducing),
                    fmt::format("put {}WAIT_REDUCE_GRAD before it", *reducing));
            reducing = stage;
        } else {
            if (reducing != stage)
                add("weights", index, say("{} waits for a reduction, but there is none before it", name(index)),
                    "remove it");
            reducing.reset();
        }
    }

    const LoweredSchedule& lowered_;
    TransferEnds ends_;
    bool transfers_;
    bool waits_;
    bool all_sends_wait_;
    bool unshards_;
    bool reduce_waits_;
    Rank rank_;
    std::vector<ActionProblem> problems_;
};

} // namespace

std::vector<ActionProblem> checkActions(const LoweredSchedule& lowered) {
    if (lowered.actions.empty()) return {};
    return ActionCheck(lowered).run();
}

} // namespace bubblescope
