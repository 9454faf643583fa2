#include "core/schedule/action.h"

#include "core/schedule/order_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 17> kWords{"",
                                                  "SEND_F",
                                                  "RECV_F",
                                                  "SEND_B",
                                                  "RECV_B",
                                                  "WAIT_SEND_F",
                                                  "WAIT_SEND_B",
                                                  "WAIT_RECV_F",
                                                  "WAIT_RECV_B",
                                                  "UNSHARD",
                                                  "RESHARD",
                                                  "REDUCE_GRAD",
                                                  "WAIT_REDUCE_GRAD",
                                                  "OFFLOAD",
                                                  "WAIT_OFFLOAD",
                                                  "RELOAD",
                                                  "RECOMPUTE"};

std::string opCell(const Schedule& order, Rank rank, const Op& op) {
    return fmt::format("{}{}{}", order.stageOf(rank, op.chunk).value, opLetter(op.kind), op.microbatch.value);
}

std::string computeName(const Schedule& order, Rank rank, std::size_t index) {
    const auto ops = opOrPairAt(order.ranks[rank.index()], index);
    if (ops.size() == 1) return opCell(order, rank, ops[0]);
    return fmt::format("({};{})OVERLAP_F_B", opCell(order, rank, ops[0]), opCell(order, rank, ops[1]));
}

} // namespace

std::string_view actionWord(ActionKind kind) {
    return kWords[static_cast<std::size_t>(kind)];
}

bool LoweredSchedule::hasTransfers() const {
    return std::ranges::any_of(actions, [](const std::vector<Action>& list) {
        return std::ranges::any_of(list, [](const Action& action) { return isTransfer(action.kind); });
    });
}

bool LoweredSchedule::movesActivations() const {
    return std::ranges::any_of(actions, [](const std::vector<Action>& list) {
        return std::ranges::any_of(list,
                                   [](const Action& action) { return bubblescope::movesActivations(action.kind); });
    });
}

namespace {

/// Appends the receive before, or the send after, an op whose neighbour is on another rank.
void addEnd(const Schedule& order, Rank rank, const Op& op, bool send, std::vector<Action>& to) {
    if (op.kind != OpKind::Forward && !producesInputGradient(op.kind)) return;
    const bool forward = op.kind == OpKind::Forward;
    const Stage stage = order.stageOf(rank, op.chunk);
    const Stage other{stage.value + (forward == send ? 1 : -1)};
    if (other.value < 0 || other.value >= order.stages()) return;
    if (locate(order.placement, order.pp, other).rank == rank) return;
    Action& end = to.emplace_back();
    end.stage = stage;
    end.microbatch = op.microbatch;
    end.kind = forward ? (send ? ActionKind::SendForward : ActionKind::ReceiveForward)
                       : (send ? ActionKind::SendBackward : ActionKind::ReceiveBackward);
}

} // namespace

LoweredSchedule withoutActions(Schedule order) {
    LoweredSchedule lowered{std::move(order), {}};
    for (std::size_t r = 0; r < lowered.order.ranks.size(); ++r) {
        const auto& ops = lowered.order.ranks[r];
        auto& actions = lowered.actions.emplace_back();
        for (std::size_t i = 0; i < ops.size(); i += opOrPairAt(ops, i).size()) {
            if (ops[i].kind == OpKind::Optimizer) continue;
            Action& compute = actions.emplace_back();
            compute.op = static_cast<std::int32_t>(i);
            compute.stage = lowered.order.stageOf(Rank{r}, ops[i].chunk);
            compute.microbatch = ops[i].microbatch;
        }
    }
    return lowered;
}

LoweredSchedule withTransfers(LoweredSchedule lowered) {
    for (std::size_t r = 0; r < lowered.actions.size(); ++r) {
        const auto& ops = lowered.order.ranks[r];
        std::vector<Action> all;
        for (const Op& op : ops)
            addEnd(lowered.order, Rank{r}, op, false, all);
        for (const Action& action : lowered.actions[r]) {
            all.push_back(action);
            if (action.kind != ActionKind::Compute) continue;
            for (const Op& op : opsOf(lowered.order, Rank{r}, action))
                addEnd(lowered.order, Rank{r}, op, true, all);
        }
        lowered.actions[r] = std::move(all);
    }
    return lowered;
}

std::string actionName(const Schedule& order, Rank rank, const Action& action) {
    if (action.kind == ActionKind::Compute) return computeName(order, rank, static_cast<std::size_t>(action.op));
    std::string name = fmt::format("{}{}", action.stage.value, actionWord(action.kind));
    if (action.microbatch.value >= 0) name += std::to_string(action.microbatch.value);
    if (action.peer >= 0) name += fmt::format("@{}", action.peer);
    return name;
}

std::vector<std::string> actionCells(const LoweredSchedule& lowered, Rank rank) {
    std::vector<std::string> cells;
    bool joined = false;
    for (const Action& action : lowered.actions[rank.index()]) {
        const std::string name = actionName(lowered.order, rank, action);
        if (joined) {
            cells.back() += ";" + name;
        } else {
            cells.push_back(action.grouped ? "(" + name : name);
        }
        if (joined && !action.grouped) cells.back() += ")GROUP";
        joined = action.grouped;
    }
    return cells;
}

} // namespace bubblescope
