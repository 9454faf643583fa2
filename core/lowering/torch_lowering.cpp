#include "core/lowering/torch_lowering.h"

#include "core/base/field.h"
#include "core/lowering/torch_passes.h"
#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// Puts sends and receives into the lists. Ranks take turns, one action each; a sender puts the receive into the other
/// rank's list at its current end.
class Transfers {
public:
    Transfers(const Schedule& order, const std::vector<std::vector<Action>>& from)
        : order_(order), from_(from), to_(from.size()), next_(from.size(), 0) {
        const auto units = static_cast<std::size_t>(order.stages()) * static_cast<std::size_t>(order.microbatches);
        arrived_[0].assign(units, 0);
        arrived_[1].assign(units, 0);
        for (int s = 0; s < order.stages(); ++s)
            rank_of_.push_back(locate(order.placement, order.pp, Stage{s}).rank);
    }

    Result<std::vector<std::vector<Action>>> run() {
        for (bool left = true; left;) {
            bool moved = false;
            left = false;
            for (std::size_t r = 0; r < from_.size(); ++r) {
                moved |= advance(Rank{r});
                left |= next_[r] < from_[r].size();
            }
            if (left && !moved) {
                return inputError("schedule " + order_.name, "its ops wait for each other, so they cannot be lowered",
                                  "`bubblescope validate` prints the cycle");
            }
        }
        return std::move(to_);
    }

private:
    [[nodiscard]] char& arrived(Payload payload, int stage, Microbatch m) {
        return arrived_[payload == Payload::Activation ? 0 : 1]
                       [static_cast<std::size_t>(stage) * static_cast<std::size_t>(order_.microbatches) + m.index()];
    }
    [[nodiscard]] bool exists(int stage) const { return stage >= 0 && stage < order_.stages(); }

    /// True if the input is on this rank or its receive is in the list.
    bool ready(Rank rank, const Op& op) {
        if (op.kind != OpKind::Forward && !producesInputGradient(op.kind)) return true;
        const Payload payload = bubblescope::payloadOf(op.kind);
        const int stage = order_.stageOf(rank, op.chunk).value;
        const int before = stage - (payload == Payload::Activation ? 1 : -1);
        return !exists(before) || arrived(payload, stage, op.microbatch) != 0;
    }

    bool advance(Rank rank) {
        std::size_t& next = next_[rank.index()];
        if (next == from_[rank.index()].size()) return false;
        const Action& action = from_[rank.index()][next];
        const auto ops = opsOf(order_, rank, action);
        if (!std::ranges::all_of(ops, [&](const Op& op) { return ready(rank, op); })) return false;
        to_[rank.index()].push_back(action);
        for (const Op& op : ops)
            handOn(rank, op);
        ++next;
        return true;
    }

    void handOn(Rank rank, const Op& op) {
        if (op.kind != OpKind::Forward && !producesInputGradient(op.kind)) return;
        const Payload payload = bubblescope::payloadOf(op.kind);
        const bool forward = payload == Payload::Activation;
        const int stage = order_.stageOf(rank, op.chunk).value;
        const int after = stage + (forward ? 1 : -1);
        if (!exists(after)) return;
        arrived(payload, after, op.microbatch) = 1;
        const Rank peer = rank_of_[static_cast<std::size_t>(after)];
        if (peer == rank) return;
        add(rank, forward ? ActionKind::SendForward : ActionKind::SendBackward, stage, op.microbatch);
        add(peer, forward ? ActionKind::ReceiveForward : ActionKind::ReceiveBackward, after, op.microbatch);
    }
    void add(Rank rank, ActionKind kind, int stage, Microbatch m) {
        Action action;
        action.kind = kind;
        action.stage = Stage{stage};
        action.microbatch = m;
        to_[rank.index()].push_back(action);
    }

    const Schedule& order_;
    const std::vector<std::vector<Action>>& from_;
    std::vector<std::vector<Action>> to_;
    std::vector<std::size_t> next_;
    std::vector<Rank> rank_of_;
    std::vector<char> arrived_[2]; // NOLINT(modernize-avoid-c-arrays): activations, gradients
};

/// Waits for each forward's send after the same stage's backward, and for all other sends at the end, oldest first.
std::vector<Action> withSendWaits(const Schedule& order, Rank rank, const std::vector<Action>& list) {
    const auto unit = [&](Stage stage, Microbatch m) {
        return stage.index() * static_cast<std::size_t>(order.microbatches) + m.index();
    };
    std::vector<char> pending(static_cast<std::size_t>(order.stages()) * static_cast<std::size_t>(order.microbatches),
                              0);
    const auto waitFor = [](ActionKind kind, Stage stage, Microbatch m) {
        Action wait;
        wait.kind = kind;
        wait.stage = stage;
        wait.microbatch = m;
        return wait;
    };
    std::vector<Action> result;
    for (const Action& action : list) {
        result.push_back(action);
        if (action.kind == ActionKind::SendForward) pending[unit(action.stage, action.microbatch)] = 1;
        for (const Op& op : opsOf(order, rank, action)) {
            const Stage stage = order.stageOf(rank, op.chunk);
            if (!producesInputGradient(op.kind) || pending[unit(stage, op.microbatch)] == 0) continue;
            pending[unit(stage, op.microbatch)] = 0;
            result.push_back(waitFor(ActionKind::WaitSendForward, stage, op.microbatch));
        }
    }
    for (const Action& action : list) {
        if (action.kind == ActionKind::SendBackward)
            result.push_back(waitFor(ActionKind::WaitSendBackward, action.stage, action.microbatch));
        if (action.kind == ActionKind::SendForward && pending[unit(action.stage, action.microbatch)] != 0)
            result.push_back(waitFor(ActionKind::WaitSendForward, action.stage, action.microbatch));
    }
    return result;
}

/// Moves each receive to just before the op that needs it. A rank below its peer receives before it sends to it, so
/// that the two do not wait for each other (pytorch#172668).
std::vector<Action> withDeferredReceives(const Schedule& order, Rank rank, const std::vector<Action>& list) {
    const auto peerOf = [&](const Action& action) {
        const int step = (payloadOf(action.kind) == Payload::Activation) == isSend(action.kind) ? 1 : -1;
        return locate(order.placement, order.pp, Stage{action.stage.value + step}).rank;
    };
    std::vector<Action> deferred;
    std::vector<Action> result;
    const auto flush = [&](auto matches) {
        std::ranges::copy_if(deferred, std::back_inserter(result), matches);
        std::erase_if(deferred, matches);
    };
    for (const Action& action : list) {
        if (isReceive(action.kind)) {
            deferred.push_back(action);
            continue;
        }
        if (isSend(action.kind) && rank < peerOf(action))
            flush([&, peer = peerOf(action)](const Action& each) { return peerOf(each) == peer; });
        for (const Op& op : opsOf(order, rank, action)) {
            if (op.kind != OpKind::Forward && !producesInputGradient(op.kind)) continue;
            const Stage stage = order.stageOf(rank, op.chunk);
            flush([&](const Action& each) {
                return each.stage == stage && each.microbatch == op.microbatch &&
                       payloadOf(each.kind) == bubblescope::payloadOf(op.kind);
            });
        }
        result.push_back(action);
    }
    return result;
}

/// Moves each receive that is posted too early to just before the op that runs `ahead` ops before the one that needs
/// it.
std::vector<Action> withReceivesAhead(const Schedule& order, Rank rank, const std::vector<Action>& list, int ahead) {
    std::vector<std::size_t> computes;
    std::map<std::tuple<Payload, Stage, Microbatch>, std::size_t> needed; // index into `computes`
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].kind != ActionKind::Compute) continue;
        for (const Op& op : opsOf(order, rank, list[i])) {
            if (op.kind == OpKind::Forward || producesInputGradient(op.kind))
                needed[{bubblescope::payloadOf(op.kind), order.stageOf(rank, op.chunk), op.microbatch}] =
                    computes.size();
        }
        computes.push_back(i);
    }
    std::vector<std::vector<Action>> moved(list.size()); // actions to insert before each action
    std::vector<Action> result;
    for (std::size_t i = 0; i < list.size(); ++i) {
        result.insert(result.end(), moved[i].begin(), moved[i].end());
        const auto op = isReceive(list[i].kind)
                            ? needed.find({payloadOf(list[i].kind), list[i].stage, list[i].microbatch})
                            : needed.end();
        const std::size_t place =
            op == needed.end() ? i : computes[op->second - std::min(op->second, static_cast<std::size_t>(ahead))];
        if (place > i)
            moved[place].push_back(list[i]);
        else
            result.push_back(list[i]);
    }
    return result;
}

Result<std::vector<int>> lookaheads(const TorchLowering& options, int pp) {
    const int most = options.max_active_stages;
    if (most < 1)
        return usageError(fmt::format("{} is too small", Field("max_active_stages").is(most)), "use 1 or more");
    std::vector<int> result(static_cast<std::size_t>(pp), most);
    if (options.lookahead == TorchLowering::Lookahead::Auto) {
        for (int r = 0; r < pp; ++r)
            result[static_cast<std::size_t>(r)] = std::min(r + 2, most);
    }
    if (options.lookahead != TorchLowering::Lookahead::Listed) return result;
    if (options.lookahead_list.size() != result.size()) {
        return usageError(fmt::format("{} has {} numbers for {} ranks", Field("unshard_lookahead"),
                                      options.lookahead_list.size(), pp),
                          "specify one per rank, or full, or auto");
    }
    for (std::size_t r = 0; r < result.size(); ++r) {
        const int wanted = options.lookahead_list[r];
        if (wanted < 1 || wanted > most)
            return usageError(fmt::format("{} of rank {} is not between 1 and {}",
                                          Field("unshard_lookahead").is(wanted), r,
                                          Field("max_active_stages").is(most)));
    }
    return options.lookahead_list;
}

Status checkHolds(const Schedule& order, const TorchLowering& options) {
    if (routes(order.placement) > 1)
        return usageError("PyTorch does not run two pipelines in opposite directions", "choose another schedule");
    const bool sliced = std::ranges::any_of(order.ranks, [](const auto& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.sequence > 0; });
    });
    if (sliced) return usageError("PyTorch does not split sequences", "choose another schedule");
    if (options.receives_ahead.value_or(0) < 0)
        return usageError(fmt::format("receives cannot be posted {} ops ahead", *options.receives_ahead),
                          "use 0 or more");
    if (options.receives_ahead && options.defer_pp_recv)
        return usageError("receives are either deferred or posted a number of ops ahead", "specify one of the two");
    if (options.max_outstanding_sends.value_or(0) < 0)
        return usageError(
            fmt::format("{} is negative", Field("max_outstanding_sends").is(*options.max_outstanding_sends)));
    return {};
}

} // namespace

Result<LoweredSchedule> lowerAsTorch(const Schedule& order, const TorchLowering& options) {
    BUBBLESCOPE_TRY(checkHolds(order, options));
    BUBBLESCOPE_ASSIGN(const std::vector<int> lookahead, lookaheads(options, order.pp));
    LoweredSchedule lowered{order, {}};
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        const WeightRules rules{options.max_active_stages, lookahead[r], options.defer_reduce_grad_wait};
        BUBBLESCOPE_ASSIGN(auto actions, withWeightActions(order, Rank{r}, rules));
        lowered.actions.push_back(std::move(actions));
    }
    BUBBLESCOPE_ASSIGN(lowered.actions, Transfers(order, lowered.actions).run());
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        auto& list = lowered.actions[r];
        list = withSendWaits(order, Rank{r}, list);
        if (options.defer_pp_recv) list = withDeferredReceives(order, Rank{r}, list);
        if (options.receives_ahead) list = withReceivesAhead(order, Rank{r}, list, *options.receives_ahead);
    }
    if (options.max_outstanding_sends) BUBBLESCOPE_TRY(limitOutstandingSends(lowered, *options.max_outstanding_sends));
    return lowered;
}

} // namespace bubblescope
