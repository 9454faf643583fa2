#pragma once

#include "core/schedule/op.h"

#include <cstddef>
#include <vector>

namespace bubblescope {

/// Where a rank's phases lie in its list (see Position): warm-up [0, steady), steady [steady, cooldown),
/// cool-down [cooldown, end). Without a steady phase both equal the first backward's index.
struct Phases {
    std::size_t steady = 0;
    std::size_t cooldown = 0;
    std::size_t end = 0; ///< after the last F, B, I or W op

    [[nodiscard]] bool hasSteady() const { return steady < cooldown; }
};

/// `ops` of one rank in execution order; optimizer ops are no part of any phase. An overlapped pair of a forward and a
/// backward is steady, even where it is the rank's last forward and its first backward.
[[nodiscard]] Phases findPhases(const std::vector<Op>& ops);

} // namespace bubblescope
