#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/cost/transfer_model.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope {

class MeasuredTimes; // core/cost/measured_times.h

/// Times of one op of one chunk (with v > 1 not of the whole rank).
struct OpTimes {
    TimeNs forward{0};     ///< F
    TimeNs backward{0};    ///< B = I + W
    TimeNs input_grad{0};  ///< I
    TimeNs weight_grad{0}; ///< W
    TimeNs optimizer{0};   ///< O

    [[nodiscard]] TimeNs of(OpKind kind) const;
};

/// The memory that the ops of one chunk take on a rank and free again, in any one unit: bytes, or halves of an
/// activation as by default. The two gradients together free the memory that the forward takes.
struct ActivationSizes {
    std::int64_t forward = 2;     ///< taken by a forward
    std::int64_t input_grad = 1;  ///< freed by its input gradient
    std::int64_t weight_grad = 1; ///< freed by its weight gradient
};

/// The times of a schedule's ops and transfers. simulate() states how the parts work together.
struct CostModel {
    OpTimes times;                    ///< of every stage, where `stages` is empty
    std::vector<OpTimes> stages;      ///< per global stage; empty, or one entry per stage
    std::optional<TimeNs> overlapped; ///< an overlapped pair of two ops; their sum if not given
    TimeNs comm{0};                   ///< one-way latency of a transfer between different ranks
    TransferModel transfers;          ///< costs of transfers besides their latency
    /// Measured times of single ops and transfers, which take precedence; null = none. An overlapped pair takes the
    /// longer of its two halves' times where either is known.
    std::shared_ptr<const MeasuredTimes> measured;

    [[nodiscard]] TimeNs opTime(OpKind kind, Stage stage) const {
        return stages.empty() ? times.of(kind) : stages[stage.index()].of(kind);
    }

    /// Latency plus bytes over bandwidth from one rank to a different one. Ignores `measured`.
    [[nodiscard]] TimeNs transferTime(Payload payload, Rank from, Rank to) const;

    /// True if ops of a kind take one time everywhere.
    [[nodiscard]] bool equalStages() const { return stages.empty() && measured == nullptr; }
    /// True if every transfer takes `comm` and costs its ranks no other time.
    [[nodiscard]] bool plainTransfers() const { return transfers.plain() && measured == nullptr; }
};

/// Completes times as documented for the command line: `--backward` alone is split evenly into I and W (an odd
/// nanosecond goes to I), `--input-grad` and `--weight-grad` together give B. A given B that differs from
/// given I + W is a usage error.
[[nodiscard]] Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward,
                                          std::optional<TimeNs> input_grad, std::optional<TimeNs> weight_grad,
                                          TimeNs optimizer = TimeNs{0});

/// The mean of each time, for uses that need one set of times where stages differ; 0 without stages. Rounded down, but
/// B = I + W holds.
[[nodiscard]] OpTimes meanTimes(const std::vector<OpTimes>& stages);

} // namespace bubblescope
