#pragma once

#include "core/schedule/action.h"

#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

// What the readers of CSV and JSON share.

/// An op with the global stage that its cell names.
struct StageOp {
    Stage stage;
    Op op;
};

/// A cell of a rank's row: ops, or actions other than Compute. Neither for an empty cell.
struct ActionCell {
    std::vector<StageOp> ops; ///< one, or the two halves of a pair
    std::vector<Action> actions;
};

/// Nothing for a text that is not a cell: "2F0", "(0F1;3B0)OVERLAP_F_B", "1SEND_F0", "0UNSHARD",
/// "(1SEND_F0;1RECV_B0)GROUP".
[[nodiscard]] std::optional<ActionCell> parseActionCell(std::string_view text);

} // namespace bubblescope
