#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// The communicators chosen by the user.
struct QueueRequest {
    std::string communicators; ///< one, direction, edge, pair, tag, or a file's path; empty = not specified
    std::optional<std::int64_t> eager;
    bool receive_blocks_compute = false;
    std::optional<int> receive_share; ///< see QueueModel

    [[nodiscard]] bool given() const {
        return !communicators.empty() || eager || receive_blocks_compute || receive_share;
    }
    /// Uses tags if no communicators are specified. Errors: Usage; Input, also if a transfer in the order matches no
    /// communicator in the file.
    [[nodiscard]] Result<QueueModel> model(const Schedule& order) const;
};

} // namespace bubblescope
