#include "runtime/engine/activation_moves.h"

#include "core/schedule/order_parts.h"

namespace bubblescope::runtime {

ActivationMoves::ActivationMoves(const std::vector<std::vector<Action>>& actions, const Schedule& order, Rank rank) {
    if (rank.index() >= actions.size()) return;
    const std::vector<Op>& ops = order.ranks[rank.index()];
    std::vector<Before> before(ops.size() + 1);
    std::size_t next = 0; // op
    bool any = false;
    for (const Action& action : actions[rank.index()]) {
        if (action.kind == ActionKind::Compute) {
            next = static_cast<std::size_t>(action.op) + opsOf(order, rank, action).size();
        } else if (movesActivations(action.kind)) {
            before[next].actions.push_back(action);
            any = true;
        }
    }
    if (!any) return;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (before[i].actions.empty()) continue;
        const Action& last = before[i].actions.back();
        before[i].last_is_part_of_op = last.kind == ActionKind::Recompute && producesInputGradient(ops[i].kind) &&
                                       last.microbatch == ops[i].microbatch &&
                                       last.stage == order.stageOf(rank, ops[i].chunk);
    }
    before_ = std::move(before);
}

std::span<const Action> ActivationMoves::before(std::size_t op) const {
    if (none()) return {};
    const Before& here = before_[op];
    return std::span(here.actions).first(here.actions.size() - (here.last_is_part_of_op ? 1 : 0));
}

const Action* ActivationMoves::recomputedIn(std::size_t op) const {
    return !none() && before_[op].last_is_part_of_op ? &before_[op].actions.back() : nullptr;
}

std::set<int> ActivationMoves::recomputedBy(Stage stage) const {
    std::set<int> microbatches;
    for (const Before& here : before_) {
        for (const Action& action : here.actions) {
            if (action.kind == ActionKind::Recompute && action.stage == stage)
                microbatches.insert(action.microbatch.value);
        }
    }
    return microbatches;
}

} // namespace bubblescope::runtime
