#pragma once

#include "app/gui/models/row_choice.h"
#include "app/gui/models/session.h"

#include <vector>

namespace bubblescope::gui {

/// What choosing rows wants to know of a line.
struct RowFacts {
    int line = 0;
    int rank = 0;
    MeshNumbers place; ///< in the job's mesh; 0 along axes that the trace does not tell
    double bubble = 0; ///< share of the step
};

/// A row of the timeline: a line, or the header of a group.
struct PlannedRow {
    int line = -1;  ///< −1: a header
    int group = -1; ///< coordinate along RowChoice::group; −1 for pinned rows and where nothing is grouped
    int lines = 0;  ///< of a header: how many are in the group
    bool folded = false;
    bool pinned = false;

    [[nodiscard]] bool header() const { return line < 0; }
    friend bool operator==(const PlannedRow&, const PlannedRow&) = default;
};

/// Of all lines, by line. `step` is that whose bubbles count, a place in Run::steps.
[[nodiscard]] std::vector<RowFacts> rowFacts(const Session& session, int step);

/// How far the lines spread along each axis: one more than the largest coordinate.
[[nodiscard]] MeshNumbers rowSpread(const std::vector<RowFacts>& facts);

/// The rows from top to bottom: pinned lines, then those that the filter accepts, in order and in groups. `facts` are
/// of all lines, by line. Pinned lines are shown whatever the filter says.
[[nodiscard]] std::vector<PlannedRow> planRows(const std::vector<RowFacts>& facts, const RowChoice& choice);

/// The choice in which a line has changed places with its neighbour above (−1) or below (1): among the pinned ones, or
/// within its group, in an order by hand. The same choice where there is no such neighbour.
[[nodiscard]] RowChoice movedRow(const std::vector<RowFacts>& facts, RowChoice choice, int line, int direction);

} // namespace bubblescope::gui
