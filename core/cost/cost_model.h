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

/// The condition for a rank to continue after a send. simulate.h defines the timing of each mode.
enum class SendMode : std::uint8_t {
    Asynchronous, ///< immediately: the send costs the rank nothing
    Blocking,     ///< when the peer has posted the receive; sends and receives run one after another
    Paired,       ///< blocking, but a send and the next op's receive with the same rank are posted together
    Batched,      ///< blocking, but all transfers between two ops are posted together, with the next receive
};

[[nodiscard]] std::string_view sendModeName(SendMode mode); ///< "async", "blocking", "paired", "batched"
[[nodiscard]] std::optional<SendMode> sendModeFromName(std::string_view name);

/// The transfers of a rank that share a communication stream and so run one after another.
enum class CommStreams : std::uint8_t {
    Unlimited,    ///< none: every transfer starts as soon as possible
    PerDirection, ///< the transfers that a rank sends in one direction: its activations; its gradients
    PerLink,      ///< the transfers from one rank to another
    PerRank,      ///< all transfers that a rank sends
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

/// Costs of transfers between ranks besides the latency CostModel::comm, and how transfers queue. None by default.
struct TransferModel {
    std::int64_t activation_bytes = 0;            ///< bytes of a transfer that feeds an F
    std::int64_t gradient_bytes = 0;              ///< bytes of a transfer that feeds a B or I
    std::optional<std::int64_t> bytes_per_second; ///< bandwidth of a link; none = transmission takes no time
    std::vector<Link> links;                      ///< exceptions, at most one per ordered pair of ranks
    CommStreams streams = CommStreams::Unlimited;
    SendMode sends = SendMode::Asynchronous;
    bool on_compute_stream = false; ///< the sender's next op waits until the transfer has ended

    /// True if every transfer takes CostModel::comm and occupies no rank.
    [[nodiscard]] bool plain() const;
};

/// bytes / bytes_per_second, rounded up to a nanosecond and capped at 73 years. `bytes_per_second` must be positive.
[[nodiscard]] TimeNs transmissionTime(std::int64_t bytes, std::int64_t bytes_per_second);

class MeasuredTimes; // core/cost/measured_times.h

/// Times of one op of one chunk (for v > 1, not of the whole rank).
struct OpTimes {
    TimeNs forward{0};     ///< F
    TimeNs backward{0};    ///< B = I + W
    TimeNs input_grad{0};  ///< I
    TimeNs weight_grad{0}; ///< W
    TimeNs optimizer{0};   ///< O

    [[nodiscard]] TimeNs of(OpKind kind) const;
};

/// The memory that the ops of one chunk allocate and free on a rank, all in the same unit: bytes, or by default halves
/// of an activation. The two gradients together free what the forward allocates.
struct ActivationSizes {
    std::int64_t forward = 2;     ///< allocated by a forward
    std::int64_t input_grad = 1;  ///< freed by its input gradient
    std::int64_t weight_grad = 1; ///< freed by its weight gradient
};

/// The times of a schedule's ops and transfers. simulate() documents how the parts interact.
struct CostModel {
    OpTimes times;                    ///< for every stage, if `stages` is empty
    std::vector<OpTimes> stages;      ///< per global stage; empty, or one entry per stage
    std::optional<TimeNs> overlapped; ///< time of a forward and a B or I as a pair; none = see pairTime()
    /// The part of a forward and of an I that nothing hides when they run alone: their tensor-parallel all-reduce. B
    /// hides it behind its weight gradient, an overlapped pair behind its other half.
    TimeNs all_reduce{0};
    TimeNs comm{0};          ///< one-way latency of a transfer between different ranks
    TransferModel transfers; ///< costs of transfers beyond their latency
    /// Measured times of single ops and transfers, which take precedence; null = none. An overlapped pair takes the
    /// longer of its halves' times if either is known.
    std::shared_ptr<const MeasuredTimes> measured;

    [[nodiscard]] TimeNs opTime(OpKind kind, Stage stage) const {
        return stages.empty() ? times.of(kind) : stages[stage.index()].of(kind);
    }

    /// The time of an overlapped pair of ops that take the given times alone. Unless `overlapped` covers the pair, the
    /// sum of both, less the all-reduces that they hide.
    [[nodiscard]] TimeNs pairTime(OpKind first, TimeNs first_alone, OpKind second, TimeNs second_alone) const;

    /// Latency plus bytes over bandwidth between two different ranks. Ignores `measured`.
    [[nodiscard]] TimeNs transferTime(Payload payload, Rank from, Rank to) const;

    /// True if all ops of one kind take the same time.
    [[nodiscard]] bool equalStages() const { return stages.empty() && measured == nullptr; }
    /// True if every transfer takes `comm` and occupies no rank.
    [[nodiscard]] bool plainTransfers() const { return transfers.plain() && measured == nullptr; }
};

/// Completes times as documented for the command line: a backward without its halves is split evenly into I and W (an
/// odd nanosecond goes to I), and `--input-grad` plus `--weight-grad` give B. A given B that differs from given I + W
/// is a usage error.
[[nodiscard]] Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward,
                                          std::optional<TimeNs> input_grad, std::optional<TimeNs> weight_grad,
                                          TimeNs optimizer = TimeNs{0});

/// The mean of each time, for code that needs one set of times even if stages differ; 0 without stages. Rounded down,
/// but B = I + W holds.
[[nodiscard]] OpTimes meanTimes(const std::vector<OpTimes>& stages);

} // namespace bubblescope
