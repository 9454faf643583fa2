#pragma once

#include "core/base/time.h"
#include "core/schedule/op.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// Times of one op of one chunk (with v > 1 not of the whole rank).
struct OpTimes {
    TimeNs forward{0};     ///< F
    TimeNs backward{0};    ///< B = I + W
    TimeNs input_grad{0};  ///< I
    TimeNs weight_grad{0}; ///< W
    TimeNs optimizer{0};   ///< O

    [[nodiscard]] TimeNs of(OpKind kind) const;
};

/// What a schedule's ops and transfers cost.
struct CostModel {
    OpTimes times;                    ///< used for every stage that `stages` does not name
    std::vector<OpTimes> stages;      ///< per global stage; empty, or one entry per stage
    std::optional<TimeNs> overlapped; ///< an overlapped pair of two ops; their sum if not given
    TimeNs comm{0};                   ///< one-way latency of a transfer between different ranks

    [[nodiscard]] TimeNs opTime(OpKind kind, Stage stage) const {
        return stages.empty() ? times.of(kind) : stages[stage.index()].of(kind);
    }
};

/// Completes times as the command line promises: `--backward` alone is split evenly into I and W (an odd
/// nanosecond goes to I), `--input-grad` and `--weight-grad` together give B. A given B that differs from
/// given I + W is a usage error.
[[nodiscard]] Result<OpTimes> makeOpTimes(TimeNs forward, std::optional<TimeNs> backward,
                                          std::optional<TimeNs> input_grad, std::optional<TimeNs> weight_grad,
                                          TimeNs optimizer = TimeNs{0});

} // namespace bubblescope
