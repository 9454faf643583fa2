#pragma once

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Point at which a rank continues after a send. simulate.h defines the timing of each mode.
enum class SendMode : std::uint8_t {
    Asynchronous, ///< immediately: the send does not delay the rank
    Blocking,     ///< as soon as the peer has posted the receive; sends and receives run one after another
    Paired,       ///< like Blocking, but a send and the next op's receive with the same rank are posted together
    Batched,      ///< like Blocking, but all transfers between two ops are posted together with the next receive
};

[[nodiscard]] std::string_view sendModeName(SendMode mode); ///< "async", "blocking", "paired", "batched"
[[nodiscard]] std::optional<SendMode> sendModeFromName(std::string_view name);

/// The transfers from a rank that share a communication stream and therefore run one after another.
enum class CommStreams : std::uint8_t {
    Unlimited,    ///< none: each transfer starts as soon as possible
    PerDirection, ///< transfers in the same direction: all activations, or all gradients
    PerLink,      ///< transfers from one rank to another
    PerRank,      ///< all transfers from the same rank
};

[[nodiscard]] std::string_view commStreamsName(CommStreams streams); ///< "unlimited", "direction", "link", "rank"
[[nodiscard]] std::optional<CommStreams> commStreamsFromName(std::string_view name);

/// Properties of one link that differ from the defaults; empty fields use the default.
struct Link {
    Rank from;
    Rank to;
    std::optional<TimeNs> latency;
    std::optional<std::int64_t> bytes_per_second;
};

/// Costs of transfers between ranks in addition to CostModel::comm, and rules for their queuing. None by default.
struct TransferModel {
    std::int64_t activation_bytes = 0;            ///< size of a transfer that feeds an F
    std::int64_t gradient_bytes = 0;              ///< size of a transfer that feeds a B or I
    std::optional<std::int64_t> bytes_per_second; ///< bandwidth of a link; none = transmission takes no time
    std::vector<Link> links;                      ///< exceptions, at most one per ordered pair of ranks
    CommStreams streams = CommStreams::Unlimited;
    SendMode sends = SendMode::Asynchronous;
    bool on_compute_stream = false; ///< true if the sender's next op waits until the transfer has ended

    /// True if every transfer takes CostModel::comm and does not occupy a rank.
    [[nodiscard]] bool plain() const;
};

/// Returns bytes / bytes_per_second, rounded up to a nanosecond, at most 73 years. `bytes_per_second` must be positive.
[[nodiscard]] TimeNs transmissionTime(std::int64_t bytes, std::int64_t bytes_per_second);

class MeasuredTimes; // core/cost/measured_times.h

/// Op times for one chunk (for v > 1, not for all chunks of a rank).
struct OpTimes {
    TimeNs forward{0};     ///< F
    TimeNs backward{0};    ///< B = I + W
    TimeNs input_grad{0};  ///< I
    TimeNs weight_grad{0}; ///< W
    TimeNs optimizer{0};   ///< O

    [[nodiscard]] TimeNs of(OpKind kind) const;
};

/// Memory that the ops of one chunk allocate and free on a rank. All sizes have the same unit: bytes, or by default
/// half an activation. The two gradients together free the memory that the forward allocates.
struct ActivationSizes {
    std::int64_t forward = 2;     ///< memory allocated by a forward
    std::int64_t input_grad = 1;  ///< memory freed by its input gradient
    std::int64_t weight_grad = 1; ///< memory freed by its weight gradient
};

/// Times of a schedule's ops and transfers. simulate() documents how they interact.
struct CostModel {
    OpTimes times;                    ///< for every stage if `stages` is empty
    std::vector<OpTimes> stages;      ///< per global stage; either empty or with one entry per stage
    std::optional<TimeNs> overlapped; ///< time of an overlapped forward and B or I; none = see pairTime()
    /// Time of the tensor-parallel all-reduce of a forward or an I; it is exposed if the op runs alone. A B hides this
    /// time behind the weight gradient, and an op of an overlapped pair hides it behind the other op.
    TimeNs all_reduce{0};
    TimeNs comm{0};          ///< one-way latency of a transfer between different ranks
    TransferModel transfers; ///< transfer costs in addition to the latency
    /// Measured times of individual ops and transfers, which override all other times; null = none. An overlapped pair
    /// takes as long as the slower of its halves, if the time of at least one half is known.
    std::shared_ptr<const MeasuredTimes> measured;

    [[nodiscard]] TimeNs opTime(OpKind kind, Stage stage) const {
        return stages.empty() ? times.of(kind) : stages[stage.index()].of(kind);
    }

    /// Time of an overlapped pair of ops, computed from the times of the two ops when they run alone. Unless
    /// `overlapped` applies to the pair, the result is the sum of these times minus the hidden all-reduces.
    [[nodiscard]] TimeNs pairTime(OpKind first, TimeNs first_alone, OpKind second, TimeNs second_alone) const;

    /// Latency plus bytes / bandwidth, for a transfer between two different ranks. Ignores `measured`.
    [[nodiscard]] TimeNs transferTime(Payload payload, Rank from, Rank to) const;

    /// True if all ops of one kind take the same time.
    [[nodiscard]] bool equalStages() const { return stages.empty() && measured == nullptr; }
    /// True if every transfer takes `comm` and does not occupy a rank.
    [[nodiscard]] bool plainTransfers() const { return transfers.plain() && measured == nullptr; }
};

/// Completes times as documented for the command line: a backward without halves is split evenly into I and W (an odd
/// nanosecond goes to I), and B is `--input-grad` plus `--weight-grad` if these are given. It is a usage error if B, I
/// and W are all given and B is not I + W.
[[nodiscard]] Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward,
                                          std::optional<TimeNs> input_grad, std::optional<TimeNs> weight_grad,
                                          TimeNs optimizer = TimeNs{0});

/// Mean of each time, for code that needs a single set of times even if stages differ; 0 if there are no stages. Means
/// are rounded down so that B = I + W.
[[nodiscard]] OpTimes meanTimes(const std::vector<OpTimes>& stages);

} // namespace bubblescope
