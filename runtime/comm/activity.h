#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/schedule/op.h"

#include <cstdint>

namespace bubblescope::runtime {

/// What a rank is doing. Times are on its host's clock.
struct Activity {
    enum class Kind : std::uint8_t {
        Starting,  ///< builds its stages
        Computing, ///< is in `op`
        Receiving, ///< waits for the input of `op` from `peer`
        Summing,   ///< waits inside `op` for `peer`'s part of a sum
        Draining,  ///< waits for its device to finish queued work, which may wait for peers
        AtBarrier, ///< waits for all ranks, between ops
        Done,      ///< has run all steps
    };

    Kind kind = Kind::Starting;
    std::int32_t step = 0;
    Op op;
    Rank peer;
    TimeNs since{0};
    TimeNs due{0}; ///< of Computing: the expected end of the op; no earlier than `since`
};

} // namespace bubblescope::runtime
