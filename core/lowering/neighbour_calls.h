#pragma once

#include "core/schedule/action.h"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope {

/// Transfers that one call of Megatron-core or Paddle posts between a rank and its two neighbours.
struct NeighbourCall {
    std::optional<Action> send_previous;
    std::optional<Action> receive_previous;
    std::optional<Action> send_next;
    std::optional<Action> receive_next;
};

/// Builds the actions of a rank that posts its transfers in such calls.
class NeighbourCalls {
public:
    /// If `batched`, a call is one group. Otherwise, even ranks post their sends first, and odd ranks their receives.
    NeighbourCalls(const Schedule& order, Rank rank, bool batched);

    void compute(std::size_t op);
    void post(const NeighbourCall& call);
    void wait(const std::optional<Action>& transfer);
    void waitForAll(const NeighbourCall& call);
    /// Posts all transfers of the call, then waits for all of them.
    void postAndWait(const NeighbourCall& call);

    [[nodiscard]] const std::vector<Op>& ops() const { return order_.ranks[rank_.index()]; }
    [[nodiscard]] bool isFirst() const { return rank_.value == 0; }
    [[nodiscard]] bool isLast() const { return rank_.value == order_.pp - 1; }
    /// The send of an op's output; empty if no stage needs the output.
    [[nodiscard]] std::optional<Action> send(const Op& op) const;
    /// The receive of an op's input; empty if the op needs none.
    [[nodiscard]] std::optional<Action> receive(const Op& op) const;
    [[nodiscard]] std::vector<Action> take() { return std::move(actions_); }

private:
    using Posted = std::array<std::optional<Action>, 4>;
    [[nodiscard]] Posted inOrder(const NeighbourCall& call) const;

    const Schedule& order_;
    Rank rank_;
    bool batched_;
    std::vector<Action> actions_;
};

} // namespace bubblescope
