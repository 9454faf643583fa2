#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// What a user states about communicators.
struct QueueRequest {
    std::string communicators; ///< one, direction, edge, pair, tag, or a file; empty: not stated
    std::optional<std::int64_t> eager;
    bool receive_blocks_compute = false;

    [[nodiscard]] bool given() const { return !communicators.empty() || eager || receive_blocks_compute; }
    /// Tags where no communicators are stated. Errors: Usage; Input, also for a transfer of the order that no
    /// communicator of the file is for.
    [[nodiscard]] Result<QueueModel> model(const Schedule& order) const;
};

} // namespace bubblescope
