#pragma once

#include "core/schedule/action.h"

#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

// Shared by the readers of CSV and JSON.

/// An op with the global stage named in its cell.
struct StageOp {
    Stage stage;
    Op op;
};

/// A cell of a rank's row: ops, or actions other than Compute. An empty cell has neither.
struct ActionCell {
    std::vector<StageOp> ops; ///< one op, or the two halves of a pair
    std::vector<Action> actions;
};

/// Parses a cell: "2F0", "(0F1;3B0)OVERLAP_F_B", "1SEND_F0", "0UNSHARD", "2OFFLOAD3@1", "(1SEND_F0;1RECV_B0)GROUP".
/// Nothing if it is not a cell.
[[nodiscard]] std::optional<ActionCell> parseActionCell(std::string_view text);

} // namespace bubblescope
