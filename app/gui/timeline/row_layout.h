#pragma once

#include "app/gui/models/lanes.h"

#include <array>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A lane's band in its row, in logical pixels from the row's top.
struct LaneBand {
    LaneKind kind = LaneKind::Compute; ///< Compute stands for Bubble as well
    int top = 0;
    int height = 0;
};

/// What rows have besides the lanes of their ops.
struct RowExtras {
    bool ghost = false;           ///< a band for another timeline, below that of the ops
    std::vector<int> raw_lanes{}; ///< per rank, how many raw lanes it is unfolded to; those missing are folded
    std::vector<int> counters{};  ///< per rank, how many counters are drawn; not in strips
    int height = 0;               ///< wanted for the ops, 0 = whatever fits the view best
};

/// Where rows and lanes lie, in logical pixels from the top of the first row. Rows grow to fill the view
/// up to a comfortable height and shrink to a readable one; beyond that the view scrolls. Where that would be many
/// views long, rows are strips instead: as thin as fits, with nothing but a band for the ops and bubbles.
class RowLayout {
public:
    static constexpr int kRawHeight = 14;
    static constexpr int kRawPitch = 16; ///< a raw lane with the gap to the next
    static constexpr int kCounterHeight = 24;
    static constexpr int kCounterPitch = 28;
    static constexpr int kThinnest = 3;  ///< of a strip
    static constexpr int kReadable = 24; ///< the ops' band of a row; lower ones are strips
    static constexpr int kHighest = 220;

    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height, RowExtras extras = {});

    [[nodiscard]] int rowCount() const { return rows_; }
    /// Whether rows are strips: without labels, their height tells how busy a rank is.
    [[nodiscard]] bool strips() const { return strips_; }
    /// Of a folded row.
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// What RowExtras::height makes the ops the next size higher (1) or lower (−1) than they are now.
    [[nodiscard]] int otherHeight(int direction) const;
    [[nodiscard]] int heightOf(int row) const { return rowTop(row + 1) - rowTop(row); }
    [[nodiscard]] int contentHeight() const { return rowTop(rows_); }
    [[nodiscard]] int rowTop(int row) const { return tops_.empty() ? 0 : tops_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

    /// The band of the other timeline; without one, or in strips, its height is 0.
    [[nodiscard]] const LaneBand& ghost() const { return ghost_; }

    [[nodiscard]] int rawCount(int row) const;
    [[nodiscard]] int rawTop(int row, int lane) const { return rowTop(row) + row_height_ + lane * kRawPitch; }
    struct RawPlace {
        int row = 0;
        int lane = 0;
    };
    [[nodiscard]] std::optional<RawPlace> rawAt(int y) const;

    [[nodiscard]] int counterCount(int row) const;
    [[nodiscard]] int counterTop(int row, int lane) const;

private:
    [[nodiscard]] int rawHeight(int row) const;
    void layStrip(int height);
    void layBands(const Lanes& lanes, int compute);

    int rows_ = 0;
    int row_height_ = 1;
    bool strips_ = false;
    std::vector<LaneBand> bands_;
    LaneBand ghost_;
    RowExtras extras_;
    std::vector<int> tops_; ///< of each row, and the end of the last
};

} // namespace bubblescope::gui
