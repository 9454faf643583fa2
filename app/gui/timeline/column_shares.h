#pragma once

#include "app/gui/models/lanes.h"

#include <array>
#include <cstdint>
#include <optional>

namespace bubblescope::gui {

/// Parts of a pixel column from bottom to top: ops, exposed transfers (Role::Send), idle time (Role::Bubble), and waits
/// for other replicas. The rest of the column is not part of any step.
inline constexpr std::array kStackOrder{Role::Forward,   Role::Backward, Role::BackwardInput, Role::BackwardWeight,
                                        Role::Optimizer, Role::Send,     Role::Bubble,        Role::ReplicaWait};

/// True if a part is an op.
[[nodiscard]] constexpr bool isOpRole(Role role) {
    return role <= Role::Optimizer;
}

/// Distributes `pixels` over the parts of a column of `length` in proportion to their time, by the largest-remainder
/// method. All ops together receive at least one pixel if their time is not 0, as do all other parts together. That
/// pixel is taken from time outside steps or, if there is none, from the part with the largest excess over its
/// share.
using StackHeights = std::array<std::uint16_t, kRoleCount>;
[[nodiscard]] StackHeights stackHeights(const RoleTimes& shares, TimeNs length, int pixels);

/// Adjacent pixel columns in a row with the same content: a stack of the rank's activities; see kStackOrder. The
/// remaining height is time outside steps.
struct StackPiece {
    int row = 0;
    int begin = 0; ///< first column, from the left edge of the plot
    int end = 0;
    StackHeights heights{}; ///< in device pixels
    int chunk = -1;         ///< chunk of the op; −1 if there may be several ops

    [[nodiscard]] int height(Role role) const { return heights[static_cast<std::size_t>(role)]; }
    /// The activity that fills the full height; none if there are several activities.
    [[nodiscard]] std::optional<Role> only(int height) const;
    /// Number of pixels for all ops; the next function returns the number for all other parts.
    [[nodiscard]] int busy() const;
    [[nodiscard]] int idle() const;

    friend bool operator==(const StackPiece&, const StackPiece&) = default;
};

/// Scans the spans of a lane from left to right.
class LaneCursor {
public:
    LaneCursor(const Lane& lane, TimeNs begin);

    /// Advances to `to`. Returns the busy time of the lane since the previous position.
    TimeNs advance(TimeNs to) {
        before_ = next_;
        next_ = lane_.firstStartingFrom(to, next_);
        const TimeNs covered = lane_.coveredBefore(to, next_);
        const TimeNs busy = covered - covered_;
        covered_ = covered;
        return busy;
    }
    /// Index of the first span that the last advance() covered.
    [[nodiscard]] std::size_t firstMet(TimeNs begin) const;
    /// Index of the first span that has not started yet.
    [[nodiscard]] std::size_t next() const { return next_; }
    [[nodiscard]] TimeNs nextStart() const;
    [[nodiscard]] const Lane& lane() const { return lane_; }

private:
    const Lane& lane_;
    std::size_t next_;
    std::size_t before_ = 0;
    TimeNs covered_;
};

/// Scans the spans of a line from left to right, column by column.
class LineCursor {
public:
    LineCursor(const Lanes& lanes, std::size_t line, TimeNs begin);

    /// Advances to `to`, where a new column starts.
    void advance(TimeNs to);

    TimeNs busy{0};    ///< time of ops in the column
    TimeNs idle{0};    ///< time in bubbles in the column
    TimeNs exposed{0}; ///< part of `idle` during which transfers were in progress
    TimeNs waiting{0}; ///< time waiting for other replicas

    /// Exact time of each part of the column.
    [[nodiscard]] RoleTimes shares();
    [[nodiscard]] const LaneCursor& ops() const { return ops_; }
    [[nodiscard]] const LaneCursor& bubbles() const { return bubbles_; }
    /// Time when the next op, exposed transfer or wait starts.
    [[nodiscard]] TimeNs nextStart() const;

private:
    LaneCursor ops_;
    LaneCursor bubbles_;
    LaneCursor exposed_;
    LaneCursor waits_;
    TimeNs begin_; ///< start of the column
    TimeNs end_;
    std::size_t begin_next_; ///< index of the first op that had not started by begin_
    Lane::Overhang known_;   ///< overhang of the ops at known_time_, cached because adjacent columns share a border
    TimeNs known_time_{TimeNs::min()};
};

/// Exact time of each part of a line in a time range. Logarithmic in the number of spans.
[[nodiscard]] RoleTimes sharesOf(const Lanes& lanes, std::size_t line, const TimeRange& range);

} // namespace bubblescope::gui
