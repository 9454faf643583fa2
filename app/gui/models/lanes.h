#pragma once

#include "app/gui/models/item.h"
#include "core/analysis/clocks/run_clocks.h"
#include "core/base/job.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"
#include "core/trace/pyramid.h"

#include <QString>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace bubblescope::gui {

/// What is drawn in a rank's row. Compute, Bubble and Check share one band of pixels: a rank's stream is either
/// busy or idle, and checks fill idle time.
enum class LaneKind : std::uint8_t { Compute, Bubble, Check, Send, Receive, Wait, Collective };
inline constexpr std::size_t kLaneCount = 7;

/// An interval with the way back to what it shows.
struct Span {
    TimeNs start{0};
    TimeNs end{0};
    std::int32_t step = 0;
    std::int32_t index = 0;
    Role role = Role::Bubble; ///< its colour, kept here because every frame asks for it
    std::uint16_t chunk = 0;
    bool paired = false; ///< may share its time with the other half of a pair
};

/// The spans of one kind on one rank over all steps, by start time.
class Lane {
public:
    void add(Span span) { spans_.push_back(span); }
    /// Sorts and prepares the search; call once after the last add().
    void seal();

    [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
    /// The first span that may reach beyond `time`; spans before it have all ended. Logarithmic.
    [[nodiscard]] std::size_t firstEndingAfter(TimeNs time) const;
    /// The first span that starts at `time` or later. Logarithmic in its distance from `from`, which starts no later.
    [[nodiscard]] std::size_t firstStartingFrom(TimeNs time, std::size_t from = 0) const;
    /// Time before `time` in which at least one of the spans runs; `next` is firstStartingFrom(time).
    [[nodiscard]] TimeNs coveredBefore(TimeNs time, std::size_t next) const;
    /// Role and chunk of most of the time that the spans [first, last) have within `window`; of many some are looked
    /// at.
    struct Colour {
        Role role = Role::Bubble;
        int chunk = 0;
    };
    [[nodiscard]] Colour mainColour(std::size_t first, std::size_t last, const TimeRange& window) const;

private:
    std::vector<Span> spans_;
    std::vector<TimeNs> latest_end_; ///< of all spans up to this one, so that it rises even where spans nest
    std::vector<TimeNs> covered_;    ///< by at least one of the spans up to this one
};

/// All steps of a run on one time axis, searchable by time. Immutable once built.
///
/// What runs at the same time lies on different lines: a line is a rank of one replica. They count by replica, then by
/// rank, so that in a run of a single replica a line's number is its rank's.
class Lanes {
public:
    Lanes() = default;
    /// Of the checks those that ran in one of the steps, on the first rank of a tensor-parallel group.
    Lanes(const std::vector<StepTimeline>& steps, const std::vector<StepAnalysis>& analyses,
          const std::vector<CheckRecord>& checks = {});

    /// Of a replica.
    [[nodiscard]] std::size_t rankCount() const { return rank_count_; }
    [[nodiscard]] std::size_t lineCount() const { return lines_.size(); }
    /// Numbers of the replicas, rising; those that are not there have none.
    [[nodiscard]] const std::vector<int>& replicas() const { return replicas_; }
    /// Of a rank in a step, which counts as Run::steps does; −1 where there is none.
    [[nodiscard]] int lineOf(int step, int rank) const;
    [[nodiscard]] int lineOf(const ItemRef& item) const { return lineOf(item.step, item.rank); }
    /// By the replica's own number; −1 where there is none.
    [[nodiscard]] int lineOfReplica(int replica, int rank) const;
    [[nodiscard]] int rankOf(int line) const { return line % std::max(1, static_cast<int>(rank_count_)); }
    [[nodiscard]] int replicaOf(int line) const {
        return replicas_[static_cast<std::size_t>(line / std::max(1, static_cast<int>(rank_count_)))];
    }
    [[nodiscard]] const Lane& lane(std::size_t line, LaneKind kind) const {
        return lines_[line][static_cast<std::size_t>(kind)];
    }
    /// Whether any rank has such spans; lanes nobody uses take no room on the screen.
    [[nodiscard]] bool uses(LaneKind kind) const { return used_[static_cast<std::size_t>(kind)]; }
    /// The checks of a line that found a difference, by start time.
    [[nodiscard]] const std::vector<Span>& mismatches(std::size_t line) const { return mismatches_[line]; }
    /// First start to last end of everything drawn.
    [[nodiscard]] const TimeRange& extent() const { return extent_; }

private:
    void add(int line, LaneKind kind, Span span);
    void addChecks(const std::vector<StepTimeline>& steps, const std::vector<CheckRecord>& checks);

    std::size_t rank_count_ = 0;
    std::vector<int> replicas_;
    std::vector<int> replica_of_step_; ///< its place in the list above
    std::vector<std::array<Lane, kLaneCount>> lines_;
    std::vector<std::vector<Span>> mismatches_;
    std::array<bool, kLaneCount> used_{};
    TimeRange extent_;
};

/// Which list of the step a lane's spans point into.
[[nodiscard]] constexpr ItemKind itemKind(LaneKind lane) {
    switch (lane) {
    case LaneKind::Compute: return ItemKind::Op;
    case LaneKind::Bubble: return ItemKind::Bubble;
    case LaneKind::Check: return ItemKind::Check;
    default: return ItemKind::Comm;
    }
}

/// How busy all ranks together are over a whole run, in equal pieces of its time. Immutable.
class Overview {
public:
    static constexpr std::size_t kPieces = 2048;

    Overview() = default;
    /// Linear in ops and bubbles.
    explicit Overview(const Lanes& lanes);

    struct Piece {
        float busy = 0;   ///< share of the ranks' time that ops fill
        float bubble = 0; ///< share that lies in bubbles of steps; the rest is between steps
    };
    [[nodiscard]] const TimeRange& extent() const { return extent_; }
    [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
    /// Mean over the part [from, to) of the run, 0 to 1.
    [[nodiscard]] Piece mean(double from, double to) const;

private:
    void add(const Lane& lane, float Piece::*share, double weight);

    TimeRange extent_;
    std::vector<Piece> pieces_;
};

/// A row of the trace below a rank's ops: a host thread, a stream of the device, a lane of transfers.
struct RawLane {
    TrackId track = 0;
    QString name;
    bool device = false;
    ClockFit clock; ///< its slices' times are by this clock, the views' are the reference's

    /// A stretch of the views' time by the lane's clock, and back.
    [[nodiscard]] TimeRange own(const TimeRange& range) const;
    [[nodiscard]] TimeRange shown(const TimeRange& range) const;
};

/// The raw rows of all ranks with what it takes to draw them at any zoom. Immutable.
class RawLanes {
public:
    RawLanes() = default;
    /// `lanes` say which line is whose. Errors: Cancelled. Empty where the run has no trace.
    [[nodiscard]] static Result<RawLanes> build(const Run& run, const RunClocks& clocks, const Lanes& lanes,
                                                const JobControl& control);

    /// Of a line; devices first, then by name.
    [[nodiscard]] const std::vector<RawLane>& of(int line) const;
    /// How many of them are a device's.
    [[nodiscard]] int devicesOf(int line) const;
    [[nodiscard]] bool any() const { return pyramid_ != nullptr; }
    /// Only where any().
    [[nodiscard]] const Pyramid& pyramid() const { return *pyramid_; }
    /// The lane of a slice on a line; null for a slice of another one.
    [[nodiscard]] const RawLane* laneOf(int line, TrackId track) const;

private:
    std::vector<std::vector<RawLane>> lines_;
    std::shared_ptr<const Pyramid> pyramid_;
};

} // namespace bubblescope::gui
