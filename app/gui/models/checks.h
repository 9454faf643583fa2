#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QString>

#include <optional>
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

/// How checks would fit into the bubbles that a run leaves, as core/aadiff plans them. Made on a worker thread.
struct CheckPlan {
    /// A bubble that can hold checks.
    struct Place {
        Rank rank;
        Position position = Position::BeforeWarmup;
        TimeInterval when;      ///< on the trace's clock
        std::vector<Op> checks; ///< that are run again in it, in the plan's first step
    };
    /// A kind of op of a chunk, over all ranks.
    struct Column {
        Chunk chunk;
        OpKind kind = OpKind::Forward;
    };
    /// A rank's ops of a column.
    struct Unit {
        bool exists = false;
        int first_step = 0;               ///< of the plan in which it is first checked, from 1; 0 for never
        std::vector<TimeInterval> checks; ///< in that step, on the trace's clock
    };

    int step = 0; ///< place in Run::steps: bubbles lie in it, as the shortest of the last steps of its order
    std::size_t ranks = 0;
    std::vector<Place> places; ///< by rank and start
    std::vector<Column> columns;
    std::vector<Unit> units; ///< rank by rank, one a column
    TimeNs idle{0};          ///< in all places
    TimeNs checked{0};       ///< in a step, of all ranks
    std::optional<int> full; ///< steps until all units are checked; none where some never are
    double coverable = 0;    ///< share of the units that are checked at all

    [[nodiscard]] const Unit& unit(std::size_t rank, std::size_t column) const {
        return units[rank * columns.size() + column];
    }
};

/// Plans with chunks checked as a whole, at the last step's typical times. `margin` is the share of an op's time by
/// which its check may take longer and still delay nobody. Errors: Usage where that is below 0.
[[nodiscard]] Result<CheckPlan> planForRun(const Session& session, double margin);

} // namespace bubblescope::gui
