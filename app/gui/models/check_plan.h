#pragma once

#include "app/gui/models/session.h"
#include "core/analysis/anomalies/anomaly.h"

#include <optional>
#include <vector>

namespace bubblescope::gui {

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
