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
    Transfers, ///< sends, receives, waits and collectives
    Replay,    ///< checks in bubbles
    Kernels,   ///< streams of the device, in unfolded rows
    Threads,   ///< threads of the host, in unfolded rows
};
inline constexpr std::size_t kLaneGroupCount = 4;
/// Names of the lane groups in session files.
inline constexpr std::array<std::string_view, kLaneGroupCount> kLaneGroupNames{"transfers", "replay", "kernels",
                                                                               "threads"};

/// Order of the rows.
enum class RowOrder : std::uint8_t {
    Rank,   ///< by replica, then by rank
    Mesh,   ///< by mesh coordinates, pipeline first, so that the replicas of a rank are adjacent
    Bubble, ///< by idle time in the current step, descending
    Hand,   ///< manual, as in RowChoice::by_hand
};
inline constexpr std::size_t kRowOrderCount = 4;
inline constexpr std::array<std::string_view, kRowOrderCount> kRowOrderNames{"rank", "mesh", "bubble", "hand"};

/// Selects, orders and groups the visible lines of a run. Lines have the same numbers as in Lanes.
struct RowChoice {
    std::vector<int> pinned; ///< lines at the top, in this order
    std::string filter;      ///< text for parseRowFilter(); invalid text hides nothing
    RowOrder order = RowOrder::Rank;
    std::vector<int> by_hand;       ///< lines from top to bottom, followed by all lines that are not in the list
    std::optional<MeshAxis> group;  ///< if set, groups rows by this coordinate, each group below a header
    std::vector<int> folded;        ///< coordinates of the collapsed groups
    std::vector<int> unfolded;      ///< lines whose threads and streams are shown, ascending
    std::vector<int> flat;          ///< tracks drawn in one row instead of one row per depth, ascending
    std::vector<int> pinned_tracks; ///< tracks repeated at the top, ascending
    std::array<bool, kLaneGroupCount> hidden{};
    bool counters = false;
    int height = 0; ///< height of the band for ops; 0 = automatic

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

/// Selects ranks by number, mesh coordinates, or both.
struct RowFilter {
    struct Span {
        int first = 0;
        int last = 0; ///< inclusive
    };
    std::vector<std::string> tracks{};                       ///< parts of track names; empty = all
    std::vector<Span> ranks{};                               ///< ranges of ranks; empty = all
    std::array<std::vector<Span>, kMeshAxisNames.size()> at; ///< ranges of coordinates per axis; empty = all

    [[nodiscard]] bool accepts(int rank, const MeshNumbers& place) const;
    /// True if the name of a thread, stream or counter contains one of the parts in `tracks`, regardless of case.
    [[nodiscard]] bool acceptsTrack(const QString& name) const;
};

/// Parses text such as "0-7, 12", "pp=0,2-3 dp=1" or "track=stream": rank numbers, mesh coordinates and parts of names
/// of threads, streams and counters. Empty text accepts all rows. Errors: Usage, naming the invalid word.
[[nodiscard]] Result<RowFilter> parseRowFilter(std::string_view text);

/// Properties of a line that determine its position and visibility.
struct RowFacts {
    int line = 0;
    int rank = 0;      ///< Session::rankOf(); −1 if the line has no rank
    MeshNumbers place; ///< coordinates in the job's mesh; 0 for unknown axes
    double bubble = 0; ///< idle fraction in a step
};

/// A row of the timeline: a line, or the header of a group or of a line's pinned tracks.
struct PlannedRow {
    int line = -1;  ///< −1 for a header
    int group = -1; ///< coordinate along RowChoice::group; −1 for pinned rows, or if rows are not grouped
    int lines = 0;  ///< for a header: number of lines in the group
    bool folded = false;
    bool pinned = false;
    std::vector<int> members = {}; ///< for a folded header: the lines of the group
    int tracks_of = -1;            ///< for a header of pinned tracks: the line of the tracks

    [[nodiscard]] bool header() const { return line < 0; }
    friend bool operator==(const PlannedRow&, const PlannedRow&) = default;
};

/// Facts about all lines, by line number. `step` is an index in Run::steps and selects the step for the idle fraction.
[[nodiscard]] std::vector<RowFacts> rowFacts(const Session& session, int step);

/// Number of coordinates on each axis, which is the largest coordinate plus one.
[[nodiscard]] MeshNumbers rowSpread(const std::vector<RowFacts>& facts);

/// The rows from top to bottom: first the pinned lines, then the lines that the filter accepts, sorted and grouped.
/// `facts` must contain all lines. Pinned lines are shown regardless of the filter.
[[nodiscard]] std::vector<PlannedRow> planRows(const std::vector<RowFacts>& facts, const RowChoice& choice);

/// Swaps a line with its neighbour above (−1) or below (1), among the pinned lines or within its group, and selects the
/// manual order. Returns the choice unchanged if there is no such neighbour.
[[nodiscard]] RowChoice movedRow(const std::vector<RowFacts>& facts, RowChoice choice, int line, int direction);

/// "Rank 3", for example, or "Rank 3 dp 1" in a run with replicas. Without a pipeline, the name of the rank or process.
[[nodiscard]] QString lineName(const Session& session, int line);
/// Name such as "dp 1 (rows: 4)".
[[nodiscard]] QString groupName(const PlannedRow& header, MeshAxis axis);

} // namespace bubblescope::gui
