#pragma once

#include "core/schedule/action.h"

#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {

// Used by the readers for CSV and JSON.

/// An op and the global stage that is named in its cell.
struct StageOp {
    Stage stage;
    Op op;
};

/// A cell of a rank's row, which contains either ops or other actions. An empty cell contains neither.
struct ActionCell {
    std::vector<StageOp> ops; ///< either one op, or the two halves of a pair
    std::vector<Action> actions;
};

/// Parses a cell: "2F0", "(0F1;3B0)OVERLAP_F_B", "1SEND_F0", "0UNSHARD", "2OFFLOAD3@1", "(1SEND_F0;1RECV_B0)GROUP".
/// Empty if the text is not a valid cell.
[[nodiscard]] std::optional<ActionCell> parseActionCell(std::string_view text);

} // namespace bubblescope
