#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

/// When a rank continues after a send. simulate.h defines the times of each mode.
enum class SendMode : std::uint8_t {
    Asynchronous, ///< at once: the send costs the rank nothing
    Blocking,     ///< when the other rank has posted the receive; sends and receives one after another
    Paired,       ///< blocking, but a send and the next op's receive with the same rank are posted together
    Batched,      ///< blocking, but all transfers between two ops are posted together, with the next receive
};

[[nodiscard]] std::string_view sendModeName(SendMode mode); ///< "async", "blocking", "paired", "batched"
[[nodiscard]] std::optional<SendMode> sendModeFromName(std::string_view name);

/// Which of a rank's transfers share a communication stream, in which each starts when the one before it has ended.
enum class CommStreams : std::uint8_t {
    Unlimited,    ///< none: every transfer starts as soon as it can
    PerDirection, ///< the transfers that a rank sends in one direction: its activations; its gradients
    PerLink,      ///< the transfers from one rank to one other
    PerRank,      ///< all transfers that a rank sends
};

[[nodiscard]] std::string_view commStreamsName(CommStreams streams); ///< "unlimited", "direction", "link", "rank"
[[nodiscard]] std::optional<CommStreams> commStreamsFromName(std::string_view name);

/// The properties of one link, where they differ from the usual ones; fields that are not given do not differ.
struct Link {
    Rank from;
    Rank to;
    std::optional<TimeNs> latency;
    std::optional<std::int64_t> bytes_per_second;
};

/// The costs of transfers between ranks besides CostModel::comm, their latency, and how they queue. The default
/// adds nothing to the latency.
struct TransferModel {
    std::int64_t activation_bytes = 0;            ///< of one transfer that feeds an F
    std::int64_t gradient_bytes = 0;              ///< of one that feeds a B or I
    std::optional<std::int64_t> bytes_per_second; ///< bandwidth of a link; none = bytes take no time
    std::vector<Link> links;                      ///< exceptions, at most one for each ordered pair of ranks
    CommStreams streams = CommStreams::Unlimited;
    SendMode sends = SendMode::Asynchronous;
    bool on_compute_stream = false; ///< a sender's next op waits until the transfer has ended

    /// True if every transfer takes CostModel::comm and costs its ranks no other time.
    [[nodiscard]] bool plain() const;
};

/// bytes / bytes_per_second, rounded up to a nanosecond and never more than 73 years; `bytes_per_second` is positive.
[[nodiscard]] TimeNs transmissionTime(std::int64_t bytes, std::int64_t bytes_per_second);

} // namespace bubblescope
