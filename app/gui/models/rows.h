#pragma once

#include "app/gui/models/session.h"
#include "core/base/result.h"
#include "core/recognise/mesh.h"

#include <QString>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::gui {

/// Lanes of a rank that can be left out, whatever it has of them.
enum class LaneGroup : std::uint8_t {
    Transfers, ///< sends, receives, waits, collectives
    Replay,    ///< checks in bubbles
    Kernels,   ///< the device's streams, where a rank is unfolded
    Threads,   ///< the host's
};
inline constexpr std::size_t kLaneGroupCount = 4;
/// "transfers", "replay", …: as files of sessions call them.
inline constexpr std::array<std::string_view, kLaneGroupCount> kLaneGroupNames{"transfers", "replay", "kernels",
                                                                               "threads"};

/// By what rows are sorted.
enum class RowOrder : std::uint8_t {
    Rank,   ///< replica by replica
    Mesh,   ///< by the coordinates, the pipeline's first: replicas of a rank side by side
    Bubble, ///< those that idle most in the current step first
    Hand,   ///< as RowChoice::by_hand has it
};
inline constexpr std::size_t kRowOrderCount = 4;
inline constexpr std::array<std::string_view, kRowOrderCount> kRowOrderNames{"rank", "mesh", "bubble", "hand"};

/// What a user wants to see of a run's lines, and how. Lines are those of Lanes.
struct RowChoice {
    std::vector<int> pinned; ///< they stay at the top, in this order
    std::string filter;      ///< as parseRowFilter() takes it; one that it refuses hides nothing
    RowOrder order = RowOrder::Rank;
    std::vector<int> by_hand;      ///< lines from top to bottom; those missing come after them
    std::optional<MeshAxis> group; ///< rows that share this coordinate stand together below a header
    std::vector<int> folded;       ///< coordinates of the groups of which the header alone is shown
    std::vector<int> unfolded;     ///< lines whose threads and streams are shown, rising
    std::array<bool, kLaneGroupCount> hidden{};
    bool counters = false;
    int height = 0; ///< of the ops, 0 = what fits

    [[nodiscard]] bool hides(LaneGroup lanes) const { return hidden[static_cast<std::size_t>(lanes)]; }
    [[nodiscard]] bool pins(int line) const;
    [[nodiscard]] bool unfolds(int line) const;
    void setPinned(int line, bool on);
    void setUnfolded(int line, bool on);
    void setFolded(int coordinate, bool on);

    friend bool operator==(const RowChoice&, const RowChoice&) = default;
};

/// Which ranks are wanted: by their numbers, by their coordinates, or both.
struct RowFilter {
    struct Span {
        int first = 0;
        int last = 0; ///< belongs to it
    };
    std::vector<Span> ranks;                                 ///< empty: all
    std::array<std::vector<Span>, kMeshAxisNames.size()> at; ///< per axis; empty: all

    [[nodiscard]] bool accepts(int rank, const MeshNumbers& place) const;
};

/// From text such as "0-7, 12" or "pp=0,2-3 dp=1": numbers of ranks and coordinates of the mesh. Empty text accepts
/// all. Error: Usage, naming the word that is none of these.
[[nodiscard]] Result<RowFilter> parseRowFilter(std::string_view text);

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

/// "Rank 3", or in a run of several replicas "Rank 3 dp 1".
[[nodiscard]] QString lineName(const Session& session, int line);
/// "dp 1 (rows: 4)".
[[nodiscard]] QString groupName(const PlannedRow& header, MeshAxis axis);

} // namespace bubblescope::gui
