#pragma once

#include "core/schedule/action.h"

#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// A rank's actions on the activations that its forwards store; see ActionKind::Offload and the following kinds.
class ActivationMoves {
public:
    /// `actions` comes from LoweredSchedule and must have passed checkActions(); empty = the rank keeps all
    /// activations.
    ActivationMoves(const std::vector<std::vector<Action>>& actions, const Schedule& order, Rank rank);

    [[nodiscard]] bool none() const { return before_.empty(); }
    /// The actions before the op at this index of the rank's list, except the one that recomputedIn() returns.
    [[nodiscard]] std::span<const Action> before(std::size_t op) const;
    /// The RECOMPUTE right before the backward at this index, which becomes part of that backward; null if there is no
    /// such action.
    [[nodiscard]] const Action* recomputedIn(std::size_t op) const;
    /// The micro-batches whose activations a stage recomputes.
    [[nodiscard]] std::set<int> recomputedBy(Stage stage) const;

private:
    struct Before {
        std::vector<Action> actions;
        bool last_is_part_of_op = false;
    };
    std::vector<Before> before_; ///< actions by op; empty if there are no moves
};

} // namespace bubblescope::runtime
