#pragma once

#include "app/gui/models/lanes.h"
#include "app/gui/models/row_plan.h"

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

/// What rows have besides the lanes of their ops, and which rows there are.
struct RowExtras {
    /// Raw lanes that a line is unfolded to: some that follow one another.
    struct RawPart {
        int count = 0;
        int first = 0;
    };
    bool ghost = false;                            ///< a band for another timeline, below that of the ops
    std::vector<RawPart> raw_lanes{};              ///< per line; those missing are folded
    std::vector<int> counters{};                   ///< per line, how many counters are drawn; not in strips
    int height = 0;                                ///< wanted for the ops, 0 = whatever fits the view best
    bool transfers = true;                         ///< whether there are bands for them
    std::optional<std::vector<PlannedRow>> rows{}; ///< without them, all lines in their order
};

/// Where rows and lanes lie, in logical pixels from the top of the first row. Rows grow to fill the view
/// up to a comfortable height and shrink to a readable one; beyond that the view scrolls. Where that would be many
/// views long, rows are strips instead: as thin as fits, with nothing but a band for the ops and bubbles.
///
/// Pinned rows come first and are to stay in sight: whoever draws or looks for something in the uppermost
/// stickyHeight() pixels of the view does so as if it were not scrolled.
class RowLayout {
public:
    static constexpr int kRawHeight = 14;
    static constexpr int kRawPitch = 16; ///< a raw lane with the gap to the next
    static constexpr int kCounterHeight = 24;
    static constexpr int kCounterPitch = 28;
    static constexpr int kThinnest = 3; ///< of a strip
    static constexpr int kGroupHeight = 22;
    static constexpr int kReadable = 24; ///< the ops' band of a row; lower ones are strips
    static constexpr int kHighest = 220;

    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height, RowExtras extras = {});

    [[nodiscard]] int rowCount() const { return static_cast<int>(plan_.size()); }
    [[nodiscard]] const PlannedRow& row(int row) const { return plan_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<PlannedRow>& plan() const { return plan_; }
    [[nodiscard]] bool isHeader(int row) const { return plan_[static_cast<std::size_t>(row)].header(); }
    /// −1 for a header.
    [[nodiscard]] int lineAt(int row) const { return plan_[static_cast<std::size_t>(row)].line; }
    /// Where a line is shown; −1 where it is not.
    [[nodiscard]] int rowOf(int line) const;
    /// Of the pinned rows; 0 where they are too many to stay in sight.
    [[nodiscard]] int stickyHeight() const { return sticky_; }
    /// By how much a place in the view is scrolled: pinned rows are not.
    [[nodiscard]] int scrollAt(int view_y, int scroll) const { return view_y < sticky_ ? 0 : scroll; }
    [[nodiscard]] int scrollOf(int row, int scroll) const { return rowTop(row) < sticky_ ? 0 : scroll; }
    /// Whether rows are strips: without labels, their height tells how busy a rank is.
    [[nodiscard]] bool strips() const { return strips_; }
    /// Of a folded row with a line.
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// What RowExtras::height makes the ops the next size higher (1) or lower (−1) than they are now.
    [[nodiscard]] int otherHeight(int direction) const;
    [[nodiscard]] int heightOf(int row) const { return rowTop(row + 1) - rowTop(row); }
    [[nodiscard]] int contentHeight() const { return rowTop(rowCount()); }
    [[nodiscard]] int rowTop(int row) const { return tops_.empty() ? 0 : tops_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

    /// The band of the other timeline; without one, or in strips, its height is 0.
    [[nodiscard]] const LaneBand& ghost() const { return ghost_; }

    [[nodiscard]] int rawCount(int row) const { return rawPart(row).count; }
    /// Which of its line's raw lanes a row shows as its `lane`th.
    [[nodiscard]] int rawLane(int row, int lane) const { return rawPart(row).first + lane; }
    [[nodiscard]] int rawTop(int row, int lane) const { return rowTop(row) + row_height_ + lane * kRawPitch; }
    struct RawPlace {
        int row = 0;
        int lane = 0;
    };
    [[nodiscard]] std::optional<RawPlace> rawAt(int y) const;

    [[nodiscard]] int counterCount(int row) const;
    [[nodiscard]] int counterTop(int row, int lane) const;

private:
    [[nodiscard]] RowExtras::RawPart rawPart(int row) const;
    [[nodiscard]] int rawHeight(int row) const;
    void layStrip(int height);
    void layBands(const Lanes& lanes, int compute);

    std::vector<PlannedRow> plan_;
    std::vector<int> row_of_line_;
    int sticky_ = 0;
    int row_height_ = 1;
    bool strips_ = false;
    std::vector<LaneBand> bands_;
    LaneBand ghost_;
    RowExtras extras_;
    std::vector<int> tops_; ///< of each row, and the end of the last
};

} // namespace bubblescope::gui
