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

/// Kinds of lanes that can be hidden in all rows.
enum class LaneGroup : std::uint8_t {
    Transfers, ///< sends, receives, waits, collectives
    Replay,    ///< checks in bubbles
    Kernels,   ///< the device's streams in unfolded rows
    Threads,   ///< the host's threads in unfolded rows
};
inline constexpr std::size_t kLaneGroupCount = 4;
/// Their names in session files.
inline constexpr std::array<std::string_view, kLaneGroupCount> kLaneGroupNames{"transfers", "replay", "kernels",
                                                                               "threads"};

/// The order of rows.
enum class RowOrder : std::uint8_t {
    Rank,   ///< by replica, then rank
    Mesh,   ///< by mesh coordinates, pipeline first: the replicas of a rank are adjacent
    Bubble, ///< by idle time in the current step, descending
    Hand,   ///< as in RowChoice::by_hand
};
inline constexpr std::size_t kRowOrderCount = 4;
inline constexpr std::array<std::string_view, kRowOrderCount> kRowOrderNames{"rank", "mesh", "bubble", "hand"};

/// The lines of a run to show, and how to show them. Lines are those of Lanes.
struct RowChoice {
    std::vector<int> pinned; ///< at the top, in this order
    std::string filter;      ///< text for parseRowFilter(); an invalid one hides nothing
    RowOrder order = RowOrder::Rank;
    std::vector<int> by_hand;       ///< lines from top to bottom; lines that are missing here follow
    std::optional<MeshAxis> group;  ///< if set, rows are grouped by this coordinate, each group below a header
    std::vector<int> folded;        ///< coordinates of the collapsed groups
    std::vector<int> unfolded;      ///< lines whose threads and streams are shown, ascending
    std::vector<int> flat;          ///< tracks whose stacks take one row instead of one row per depth, ascending
    std::vector<int> pinned_tracks; ///< shown once more at the top, ascending
    std::array<bool, kLaneGroupCount> hidden{};
    bool counters = false;
    int height = 0; ///< height of the op band; 0 = automatic

    [[nodiscard]] bool hides(LaneGroup lanes) const { return hidden[static_cast<std::size_t>(lanes)]; }
    [[nodiscard]] bool pins(int line) const;
    [[nodiscard]] bool unfolds(int line) const;
    [[nodiscard]] bool flattens(TrackId track) const;
    [[nodiscard]] bool pinsTrack(TrackId track) const;
    void setPinned(int line, bool on);
    void setUnfolded(int line, bool on);
    void setFlat(TrackId track, bool on);
    void setTrackPinned(TrackId track, bool on);
    void setFolded(int coordinate, bool on);

    friend bool operator==(const RowChoice&, const RowChoice&) = default;
};

/// A selection of ranks by number, mesh coordinates, or both.
struct RowFilter {
    struct Span {
        int first = 0;
        int last = 0; ///< inclusive
    };
    std::vector<std::string> tracks{};                       ///< parts of track names; empty: all
    std::vector<Span> ranks{};                               ///< empty: all
    std::array<std::vector<Span>, kMeshAxisNames.size()> at; ///< per axis; empty: all

    [[nodiscard]] bool accepts(int rank, const MeshNumbers& place) const;
    /// True if the name of a thread, stream or counter contains one of these parts, regardless of case.
    [[nodiscard]] bool acceptsTrack(const QString& name) const;
};

/// Parses text such as "0-7, 12", "pp=0,2-3 dp=1" or "track=stream": rank numbers, mesh coordinates and parts of names
/// of threads, streams and counters. Empty text accepts all. Errors: Usage, naming the invalid word.
[[nodiscard]] Result<RowFilter> parseRowFilter(std::string_view text);

/// Properties of a line that the choice of rows depends on.
struct RowFacts {
    int line = 0;
    int rank = 0;      ///< Session::rankOf(); −1 if the line has none
    MeshNumbers place; ///< coordinates in the job's mesh; 0 along unknown axes
    double bubble = 0; ///< idle fraction of the step
};

/// A row of the timeline: a line, or the header of a group or of a line's pinned tracks.
struct PlannedRow {
    int line = -1;  ///< −1 for a header
    int group = -1; ///< coordinate along RowChoice::group; −1 for pinned rows and without groups
    int lines = 0;  ///< for a header: size of the group
    bool folded = false;
    bool pinned = false;
    std::vector<int> members = {}; ///< for a folded header: the lines of the group
    int tracks_of = -1;            ///< for a header of pinned tracks: their line

    [[nodiscard]] bool header() const { return line < 0; }
    friend bool operator==(const PlannedRow&, const PlannedRow&) = default;
};

/// The facts of all lines, in order. `step` is the index in Run::steps of the step whose bubbles are used.
[[nodiscard]] std::vector<RowFacts> rowFacts(const Session& session, int step);

/// The extent of the lines along each axis: the largest coordinate plus one.
[[nodiscard]] MeshNumbers rowSpread(const std::vector<RowFacts>& facts);

/// The rows from top to bottom: pinned lines, then those that the filter accepts, sorted and grouped. `facts` are those
/// of all lines. Pinned lines are shown regardless of the filter.
[[nodiscard]] std::vector<PlannedRow> planRows(const std::vector<RowFacts>& facts, const RowChoice& choice);

/// The choice after a line was exchanged with its neighbour above (−1) or below (1): among the pinned lines, or within
/// its group in the manual order. Unchanged if there is no such neighbour.
[[nodiscard]] RowChoice movedRow(const std::vector<RowFacts>& facts, RowChoice choice, int line, int direction);

/// "Rank 3", or "Rank 3 dp 1" in a run with replicas; without a pipeline, the name of the rank or process.
[[nodiscard]] QString lineName(const Session& session, int line);
/// "dp 1 (rows: 4)".
[[nodiscard]] QString groupName(const PlannedRow& header, MeshAxis axis);

} // namespace bubblescope::gui
