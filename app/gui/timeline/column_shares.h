#pragma once

#include "app/gui/models/lanes.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope::gui {

/// The parts of a pixel column from the bottom to the top: ops, then transfers that are waited for (Role::Send), idle
/// time (Role::Bubble) and waits for other replicas. What is left is outside of steps.
inline constexpr std::array kStackOrder{Role::Forward,   Role::Backward, Role::BackwardInput, Role::BackwardWeight,
                                        Role::Optimizer, Role::Send,     Role::Bubble,        Role::ReplicaWait};

/// Whether a part is an op.
[[nodiscard]] constexpr bool isOpRole(Role role) {
    return role <= Role::Optimizer;
}

/// How many of `pixels` each part of a column of `length` gets: the exact share, rounded up or down, so that the sum is
/// exact too (largest remainders). Ops as a whole, and what is no op, get at least one pixel where there is any; it is
/// taken from what is outside of steps, or else from the part that is most too high.
using StackHeights = std::array<std::uint16_t, kRoleCount>;
[[nodiscard]] StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels);

/// Neighbouring columns of device pixels of a row that look the same: stacks of what the rank does in them, see
/// kStackOrder. The rest of the height is outside of steps.
struct StackPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    StackHeights heights{}; ///< device pixels
    int chunk = -1;         ///< of a single op; −1 where there may be several

    [[nodiscard]] int height(Role role) const { return heights[static_cast<std::size_t>(role)]; }
    /// Of all ops; of everything else.
    [[nodiscard]] int busy() const;
    [[nodiscard]] int idle() const;

    friend bool operator==(const StackPiece&, const StackPiece&) = default;
};

/// Walks through a lane's time from left to right.
class LaneCursor {
public:
    LaneCursor(const Lane& lane, TimeNs begin);

    /// Moves on to `to`. Returns how long the lane is busy until then.
    TimeNs advance(TimeNs to) {
        before_ = next_;
        next_ = lane_.firstStartingFrom(to, next_);
        const TimeNs covered = lane_.coveredBefore(to, next_);
        const TimeNs busy = covered - covered_;
        covered_ = covered;
        return busy;
    }
    /// The first span that the last advance() touched.
    [[nodiscard]] std::size_t firstMet(TimeNs begin) const;
    /// The first span that has not begun yet.
    [[nodiscard]] std::size_t next() const { return next_; }
    [[nodiscard]] TimeNs nextStart() const;
    [[nodiscard]] const Lane& lane() const { return lane_; }

private:
    const Lane& lane_;
    std::size_t next_;
    std::size_t before_ = 0;
    TimeNs covered_;
};

/// Walks through a line's time from left to right, column by column.
class LineCursor {
public:
    LineCursor(const Lanes& lanes, std::size_t line, TimeNs begin);

    /// Moves on to `to`: a new column.
    void advance(TimeNs to);

    TimeNs busy{0};    ///< of the column, in ops
    TimeNs idle{0};    ///< in bubbles
    TimeNs exposed{0}; ///< of `idle`, while transfers were under way
    TimeNs waiting{0}; ///< for other replicas

    /// What the line does in the column, exactly: the time of each part.
    [[nodiscard]] RoleTimes shares();
    [[nodiscard]] const LaneCursor& ops() const { return ops_; }
    [[nodiscard]] const LaneCursor& bubbles() const { return bubbles_; }
    /// When the next op, exposed transfer or wait begins.
    [[nodiscard]] TimeNs nextStart() const;

private:
    LaneCursor ops_;
    LaneCursor bubbles_;
    LaneCursor exposed_;
    LaneCursor waits_;
    TimeNs begin_; ///< of the column
    TimeNs end_;
    std::size_t begin_next_; ///< the first op that has not begun at begin_
    Lane::Overhang known_;   ///< of the ops at known_time_: neighbouring columns share a border
    TimeNs known_time_{TimeNs::min()};
};

/// What a line does between two times, exactly: the time of each part. Logarithmic in its spans.
[[nodiscard]] RoleTimes sharesOf(const Lanes& lanes, std::size_t line, const TimeRange& range);

} // namespace bubblescope::gui
