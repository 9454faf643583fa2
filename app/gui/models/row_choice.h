#pragma once

#include "core/base/result.h"
#include "core/recognise/mesh.h"

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

} // namespace bubblescope::gui
