#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <vector>

namespace bubblescope::gui {

/// What a run's own checks covered, as a map of ranks by kinds of op of their chunks; each cell sums up the layers of
/// the chunk. What is not covered is unknown, never fine.
struct CheckMap {
    struct Column {
        Chunk chunk;
        OpKind kind = OpKind::Forward;

        friend constexpr auto operator<=>(const Column&, const Column&) = default;
    };
    struct Cell {
        int units = 0; ///< 0: the rank has no such ops
        int covered = 0;
        int not_yet = 0;
        int never = 0;
        CheckCounts counts;
    };
    std::vector<CheckPlace> rows;
    std::vector<Column> columns;
    std::vector<Cell> cells; ///< row by row

    [[nodiscard]] const Cell& cell(int row, int column) const {
        return cells[static_cast<std::size_t>(row) * columns.size() + static_cast<std::size_t>(column)];
    }
};

[[nodiscard]] CheckMap checkMap(const CheckCoverage& coverage);

/// The first mismatch of a cell, else its latest check that ran in a step of the run: its item. Empty where there is
/// none.
[[nodiscard]] ItemRef checkOf(const Session& session, const CheckPlace& place, const CheckMap::Column& column);

/// The item of a check that ran in one of the run's steps; empty for one that did not.
[[nodiscard]] ItemRef checkItem(const Session& session, std::size_t check);

} // namespace bubblescope::gui
