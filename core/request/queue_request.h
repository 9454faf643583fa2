#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// The user's choice of communicators.
struct QueueRequest {
    std::string communicators; ///< one, direction, edge, pair, tag, or a file; empty: not given
    std::optional<std::int64_t> eager;
    bool receive_blocks_compute = false;

    [[nodiscard]] bool given() const { return !communicators.empty() || eager || receive_blocks_compute; }
    /// Uses tags if no communicators are given. Errors: Usage; Input, also for a transfer of the order that matches no
    /// communicator of the file.
    [[nodiscard]] Result<QueueModel> model(const Schedule& order) const;
};

} // namespace bubblescope
