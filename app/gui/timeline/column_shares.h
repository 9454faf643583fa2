#pragma once

#include "app/gui/models/lanes.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope::gui {

/// The parts of a pixel column from bottom to top: ops, then transfers that are waited for (Role::Send), idle time
/// (Role::Bubble) and waits for other replicas. The rest is outside steps.
inline constexpr std::array kStackOrder{Role::Forward,   Role::Backward, Role::BackwardInput, Role::BackwardWeight,
                                        Role::Optimizer, Role::Send,     Role::Bubble,        Role::ReplicaWait};

/// True if a part is an op.
[[nodiscard]] constexpr bool isOpRole(Role role) {
    return role <= Role::Optimizer;
}

/// Distributes `pixels` over the parts of a column of `length`: each part gets its exact share, rounded up or down so
/// that the sum is exact too (largest remainders). All ops together, and all other parts together, get at least one
/// pixel if their time is not 0. The pixel is taken from the part outside steps, or else from the part that exceeds its
/// share most.
using StackHeights = std::array<std::uint16_t, kRoleCount>;
[[nodiscard]] StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels);

/// Neighbouring columns of device pixels in a row that look the same: stacks of the rank's activities in them, see
/// kStackOrder. The rest of the height is outside steps.
struct StackPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    StackHeights heights{}; ///< device pixels
    int chunk = -1;         ///< the chunk of a single op; −1 if there may be several

    [[nodiscard]] int height(Role role) const { return heights[static_cast<std::size_t>(role)]; }
    /// Pixels of all ops; the next function returns those of all other parts.
    [[nodiscard]] int busy() const;
    [[nodiscard]] int idle() const;

    friend bool operator==(const StackPiece&, const StackPiece&) = default;
};

/// Walks through a lane's time from left to right.
class LaneCursor {
public:
    LaneCursor(const Lane& lane, TimeNs begin);

    /// Moves on to `to`. Returns the time that the lane is busy until then.
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

    /// Moves on to `to`, which begins a new column.
    void advance(TimeNs to);

    TimeNs busy{0};    ///< time of ops in the column
    TimeNs idle{0};    ///< in bubbles
    TimeNs exposed{0}; ///< part of `idle` during which transfers were in progress
    TimeNs waiting{0}; ///< for other replicas

    /// The exact time of each part of the column.
    [[nodiscard]] RoleTimes shares();
    [[nodiscard]] const LaneCursor& ops() const { return ops_; }
    [[nodiscard]] const LaneCursor& bubbles() const { return bubbles_; }
    /// The time when the next op, exposed transfer or wait begins.
    [[nodiscard]] TimeNs nextStart() const;

private:
    LaneCursor ops_;
    LaneCursor bubbles_;
    LaneCursor exposed_;
    LaneCursor waits_;
    TimeNs begin_; ///< start of the column
    TimeNs end_;
    std::size_t begin_next_; ///< the first op that has not begun at begin_
    Lane::Overhang known_;   ///< overhang of the ops at known_time_, kept because neighbouring columns share a border
    TimeNs known_time_{TimeNs::min()};
};

/// The exact time of each part of a line between two times. Logarithmic in the number of its spans.
[[nodiscard]] RoleTimes sharesOf(const Lanes& lanes, std::size_t line, const TimeRange& range);

} // namespace bubblescope::gui
