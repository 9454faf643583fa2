#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

/// When a rank goes on after a send. simulate.h states what each means in time.
enum class SendMode : std::uint8_t {
    Asynchronous, ///< at once: the send costs the rank nothing
    Blocking,     ///< when the other rank has posted the receive; sends and receives one after another
    Paired,       ///< blocking, but a send and the next op's receive with the same rank are posted together
    Batched,      ///< blocking, but all that lies between two ops is posted together, and the next receive with it
};

[[nodiscard]] std::string_view sendModeName(SendMode mode); ///< "async", "blocking", "paired", "batched"
[[nodiscard]] std::optional<SendMode> sendModeFromName(std::string_view name);

/// Which of a rank's transfers share a communication stream, where each starts when the one before it is through.
enum class CommStreams : std::uint8_t {
    Unlimited,    ///< none: every transfer starts as soon as it can
    PerDirection, ///< those that a rank sends in one direction: its activations; its gradients
    PerLink,      ///< those from one rank to one other
    PerRank,      ///< all that a rank sends
};

[[nodiscard]] std::string_view commStreamsName(CommStreams streams); ///< "unlimited", "direction", "link", "rank"
[[nodiscard]] std::optional<CommStreams> commStreamsFromName(std::string_view name);

/// What the way from one rank to another has of its own; what is not given is as everywhere.
struct Link {
    Rank from;
    Rank to;
    std::optional<TimeNs> latency;
    std::optional<std::int64_t> bytes_per_second;
};

/// What transfers between ranks cost besides CostModel::comm, their latency, and how they queue. The default
/// adds nothing to the latency.
struct TransferModel {
    std::int64_t activation_bytes = 0;            ///< of one transfer that feeds an F
    std::int64_t gradient_bytes = 0;              ///< of one that feeds a B or I
    std::optional<std::int64_t> bytes_per_second; ///< bandwidth of a link; none = bytes take no time
    std::vector<Link> links;                      ///< exceptions, at most one for each ordered pair of ranks
    CommStreams streams = CommStreams::Unlimited;
    SendMode sends = SendMode::Asynchronous;
    bool on_compute_stream = false; ///< a sender's next op waits until the transfer is through

    /// True if every transfer takes CostModel::comm and costs its ranks no other time.
    [[nodiscard]] bool plain() const;
};

/// bytes / bytes_per_second, rounded up to a nanosecond and never more than 73 years; `bytes_per_second` is positive.
[[nodiscard]] TimeNs transmissionTime(std::int64_t bytes, std::int64_t bytes_per_second);

} // namespace bubblescope
