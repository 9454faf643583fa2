#include "core/schedule/action.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 13> kWords{"",
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
                                                  "WAIT_REDUCE_GRAD"};

std::string opCell(const Schedule& order, Rank rank, const Op& op) {
    return fmt::format("{}{}{}", order.stageOf(rank, op.chunk).value, opLetter(op.kind), op.microbatch.value);
}

std::string computeName(const Schedule& order, Rank rank, std::size_t index) {
    const auto& ops = order.ranks[rank.index()];
    const Op& op = ops[index];
    const bool pair = op.overlapped && index + 1 < ops.size() && ops[index + 1].overlapped;
    if (!pair) return opCell(order, rank, op);
    return fmt::format("({};{})OVERLAP_F_B", opCell(order, rank, op), opCell(order, rank, ops[index + 1]));
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

std::string actionName(const Schedule& order, Rank rank, const Action& action) {
    if (action.kind == ActionKind::Compute) return computeName(order, rank, static_cast<std::size_t>(action.op));
    std::string name = fmt::format("{}{}", action.stage.value, actionWord(action.kind));
    if (action.microbatch.value >= 0) name += std::to_string(action.microbatch.value);
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
