#pragma once

#include "core/base/ids.h"
#include "core/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// An action of a rank's runtime with PyTorch's names, plus WAIT_RECV for runtimes that wait for a receive immediately.
enum class ActionKind : std::uint8_t {
    Compute,         ///< an op or an overlapped pair of ops
    SendForward,     ///< SEND_F: posts the send of a stage's output
    ReceiveForward,  ///< RECV_F: posts the receive of a stage's input
    SendBackward,    ///< SEND_B: posts the send of the gradient for a stage's input
    ReceiveBackward, ///< RECV_B: posts the receive of the gradient for a stage's output
    WaitSendForward, ///< WAIT_SEND_F: waits until this send has ended
    WaitSendBackward,
    WaitReceiveForward, ///< WAIT_RECV_F: waits until this receive has ended
    WaitReceiveBackward,
    Unshard, ///< starts gathering a stage's weights
    Reshard, ///< frees a stage's weights
    ReduceGrad,
    WaitReduceGrad,
    // The following actions do not exist in PyTorch; they concern the activations that F keeps for its backward.
    Offload,     ///< starts to copy the activations to the host or to another rank, which frees their memory
    WaitOffload, ///< waits until this copy has ended
    Reload,      ///< starts copying the activations back after the offload has ended; the backward waits for this copy
    Recompute,   ///< recomputes the activations, because F kept only its input
};

/// An action of a rank. `stage` has PyTorch's meaning: the sender's stage for a send, the receiver's stage for a
/// receive.
struct Action {
    Stage stage;
    Microbatch microbatch{-1}; ///< -1 for actions on weights
    std::int32_t op = -1;      ///< for Compute: index of the op, or of a pair's first op, in the rank's list
    ActionKind kind = ActionKind::Compute;
    bool grouped = false;   ///< true if this send or receive is posted in the same call as the next action
    std::int16_t peer = -1; ///< for Offload: the rank that stores the activations; -1 for the host

    friend bool operator==(const Action&, const Action&) = default;
};

[[nodiscard]] constexpr bool isSend(ActionKind kind) {
    return kind == ActionKind::SendForward || kind == ActionKind::SendBackward;
}
[[nodiscard]] constexpr bool isReceive(ActionKind kind) {
    return kind == ActionKind::ReceiveForward || kind == ActionKind::ReceiveBackward;
}
[[nodiscard]] constexpr bool isSendWait(ActionKind kind) {
    return kind == ActionKind::WaitSendForward || kind == ActionKind::WaitSendBackward;
}
[[nodiscard]] constexpr bool isReceiveWait(ActionKind kind) {
    return kind == ActionKind::WaitReceiveForward || kind == ActionKind::WaitReceiveBackward;
}
[[nodiscard]] constexpr bool isTransferWait(ActionKind kind) {
    return isSendWait(kind) || isReceiveWait(kind);
}
[[nodiscard]] constexpr bool isTransfer(ActionKind kind) {
    return isSend(kind) || isReceive(kind);
}
/// Valid only for sends, receives and waits.
[[nodiscard]] constexpr Payload payloadOf(ActionKind kind) {
    return kind == ActionKind::SendForward || kind == ActionKind::ReceiveForward ||
                   kind == ActionKind::WaitSendForward || kind == ActionKind::WaitReceiveForward
               ? Payload::Activation
               : Payload::Gradient;
}
/// Actions on the activations of one forward.
[[nodiscard]] constexpr bool movesActivations(ActionKind kind) {
    return kind >= ActionKind::Offload;
}
/// The stage that consumes the data that an action sends, receives or waits for. This stage may not exist.
[[nodiscard]] constexpr Stage consumerOf(const Action& action) {
    if (isReceive(action.kind) || isReceiveWait(action.kind)) return action.stage;
    return Stage{action.stage.value + (payloadOf(action.kind) == Payload::Activation ? 1 : -1)};
}

/// The action that waits for a send or receive.
[[nodiscard]] constexpr Action waitFor(Action transfer) {
    transfer.grouped = false;
    switch (transfer.kind) {
    case ActionKind::SendForward: transfer.kind = ActionKind::WaitSendForward; break;
    case ActionKind::SendBackward: transfer.kind = ActionKind::WaitSendBackward; break;
    case ActionKind::ReceiveForward: transfer.kind = ActionKind::WaitReceiveForward; break;
    default: transfer.kind = ActionKind::WaitReceiveBackward; break;
    }
    return transfer;
}

/// PyTorch's name of an action, without its stage: "SEND_F". Empty for Compute.
[[nodiscard]] std::string_view actionWord(ActionKind kind);

/// An order with all actions of its runtime in addition to computation.
struct LoweredSchedule {
    Schedule order;                           ///< contains only the ops
    std::vector<std::vector<Action>> actions; ///< per rank, in execution order; empty if the file contains only ops

    /// True if at least one rank sends or receives. Otherwise, transfers are derived from the order.
    [[nodiscard]] bool hasTransfers() const;
    /// True if at least one rank offloads or recomputes activations.
    [[nodiscard]] bool movesActivations() const;
};

/// An order whose only actions are its ops; optimizer ops have no action. Requires routes(placement) == 1.
[[nodiscard]] LoweredSchedule withoutActions(Schedule order);

/// Adds sends and receives to actions that have none, such that each transfer waits only for its op: a rank posts all
/// receives at the start, and each send after its op. Requires routes(placement) == 1.
[[nodiscard]] LoweredSchedule withTransfers(LoweredSchedule lowered);

/// PyTorch's name of an action: "2SEND_F1", "0UNSHARD", "(0F3;3B1)OVERLAP_F_B"; "2OFFLOAD3@1" offloads to rank 1.
/// Requires routes(placement) == 1.
[[nodiscard]] std::string actionName(const Schedule& order, Rank rank, const Action& action);

/// The cells of a rank's row in order: names of actions, with the members of a group in one cell, such as
/// "(1SEND_F0;1RECV_B0)GROUP".
[[nodiscard]] std::vector<std::string> actionCells(const LoweredSchedule& lowered, Rank rank);

} // namespace bubblescope
