#pragma once

#include "app/gui/models/item.h"
#include "core/recognise/run.h"
#include "core/theory/analysis.h"

#include <algorithm>
#include <array>
#include <vector>

namespace bubblescope::gui {

/// Kinds of content in the row of a rank. Compute, Bubble and Check share one band, because a rank's stream is either
/// busy or idle, and checks fill idle time. ReplicaWait follows the step of a replica in the same band. Exposed is not
/// drawn in a band: it contains the parts of bubbles that overlap with transfers of the rank.
enum class LaneKind : std::uint8_t { Compute, Bubble, Check, Send, Receive, Wait, Collective, ReplicaWait, Exposed };
inline constexpr std::size_t kLaneCount = 9;

/// An interval with a reference to its item.
struct Span {
    TimeNs start{0};
    TimeNs end{0};
    std::int32_t step = 0;
    std::int32_t index = 0;
    Role role = Role::Bubble; ///< determines the span's colour; cached because every frame needs it
    std::uint16_t chunk = 0;
    bool paired = false; ///< true if the span may overlap the other op of an overlapped pair
};

/// A time for each role.
using RoleTimes = std::array<TimeNs, kRoleCount>;

/// Spans of one kind on one rank in all steps, sorted by start.
class Lane {
public:
    /// Prefix sums that a lane stores: none, those for coveredBefore(), or those for addByRole() and overhang() as
    /// well.
    enum class Sums : std::uint8_t { None, Covered, ByRole };

    void reserve(std::size_t spans) { spans_.reserve(spans); }
    void add(Span span) { spans_.push_back(span); }
    /// Sorts the spans and creates the search indices. Must be called once, after the last add().
    void seal(Sums sums);

    [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
    /// Index of the first span that may end after `time`; all spans before it end earlier. Logarithmic.
    [[nodiscard]] std::size_t firstEndingAfter(TimeNs time) const;
    /// Index of the first span that starts at `time` or later. Logarithmic in the distance from `from`, which must not
    /// be after the result.
    [[nodiscard]] std::size_t firstStartingFrom(TimeNs time, std::size_t from = 0) const {
        const bool there = from >= spans_.size() || spans_[from].start >= time; // true for most pixels
        return there ? from : searchStart(time, from);
    }
    /// Total time that spans cover before `time`; `next` is firstStartingFrom(time).
    [[nodiscard]] TimeNs coveredBefore(TimeNs time, std::size_t next) const {
        if (next == 0) return TimeNs{0};
        // All spans before `next` have started, so the time that they cover after `time` is contiguous.
        return covered_[next - 1] - std::max(TimeNs{0}, latestEnd(next - 1) - time);
    }
    /// Adds the time covered by the spans [first, next), by role. The time of an overlapped pair is split between its
    /// ops. Linear in the number of spans, up to kRoleStride.
    void addByRole(std::size_t first, std::size_t next, RoleTimes& sum) const;
    /// Covered time after a point in time, by role. Only one span, or an overlapped pair, can extend past that point.
    struct Overhang {
        std::array<std::size_t, 2> roles{};
        std::array<TimeNs, 2> times{};
    };
    /// Overhang of all spans that start before `time`; `next` is firstStartingFrom(time).
    [[nodiscard]] Overhang overhang(TimeNs time, std::size_t next) const;
    /// Most frequent role and chunk of the spans [first, last) within `window`. If there are many spans, only a sample
    /// of them is examined.
    struct Colour {
        Role role = Role::Bubble;
        int chunk = 0;
    };
    [[nodiscard]] Colour mainColour(std::size_t first, std::size_t last, const TimeRange& window) const;

private:
    static constexpr std::size_t kRoleStride = 16;
    [[nodiscard]] std::size_t searchStart(TimeNs time, std::size_t from) const;
    [[nodiscard]] bool startsPair(std::size_t span) const;
    [[nodiscard]] TimeNs latestEnd(std::size_t span) const {
        return latest_end_.empty() ? spans_[span].end : latest_end_[span];
    }
    [[nodiscard]] TimeNs gain(std::size_t span) const;

    std::vector<Span> spans_;
    std::vector<RoleTimes> role_sums_; ///< sums over all spans before every kRoleStride-th span
    std::vector<TimeNs> latest_end_;   ///< latest end of all spans up to this one; empty if the ends are already sorted
    std::vector<TimeNs> covered_;      ///< time covered by the spans up to this one
};

/// All steps of a run on one time axis, searchable by time. Immutable once built.
///
/// Each rank of each replica has a separate line of lanes, because replicas run at the same time. Lines are numbered by
/// replica, then by rank. With a single replica, the line number is the rank.
class Lanes {
public:
    Lanes() = default;
    /// Includes the checks within these steps, from the first rank of each tensor-parallel group.
    Lanes(const std::vector<StepTimeline>& steps, const std::vector<StepAnalysis>& analyses,
          const std::vector<CheckRecord>& checks = {});

    /// Lanes for a trace without steps: lines without spans.
    Lanes(std::size_t lines, const TimeRange& extent);

    /// Number of ranks of one replica.
    [[nodiscard]] std::size_t rankCount() const { return rank_count_; }
    [[nodiscard]] std::size_t lineCount() const { return lines_.size(); }
    /// Numbers of the replicas, ascending but not necessarily consecutive.
    [[nodiscard]] const std::vector<int>& replicas() const { return replicas_; }
    /// Line of a rank in the step with this index in Run::steps; −1 if there is none.
    [[nodiscard]] int lineOf(int step, int rank) const;
    [[nodiscard]] int lineOf(const ItemRef& item) const { return lineOf(item.step, item.rank); }
    /// Line of a rank in the replica with this number.
    [[nodiscard]] int lineOfReplica(int replica, int rank) const;
    [[nodiscard]] int rankOf(int line) const { return line % std::max(1, static_cast<int>(rank_count_)); }
    [[nodiscard]] int replicaOf(int line) const {
        return replicas_[static_cast<std::size_t>(line / std::max(1, static_cast<int>(rank_count_)))];
    }
    [[nodiscard]] const Lane& lane(std::size_t line, LaneKind kind) const {
        return lines_[line][static_cast<std::size_t>(kind)];
    }
    /// True if any rank has spans of this kind. Unused lanes are not shown.
    [[nodiscard]] bool uses(LaneKind kind) const { return used_[static_cast<std::size_t>(kind)]; }
    /// Checks of a line that found a difference, sorted by start.
    [[nodiscard]] const std::vector<Span>& mismatches(std::size_t line) const { return mismatches_[line]; }
    /// Time range from the first start to the last end of all spans.
    [[nodiscard]] const TimeRange& extent() const { return extent_; }

private:
    void reserve(const std::vector<StepTimeline>& steps, const std::vector<StepAnalysis>& analyses);
    void add(int line, LaneKind kind, Span span);
    void addReplicaWaits(const std::vector<StepTimeline>& steps);
    void addExposed(const std::vector<StepTimeline>& steps);
    void addChecks(const std::vector<StepTimeline>& steps, const std::vector<CheckRecord>& checks);

    std::size_t rank_count_ = 0;
    std::vector<int> replicas_;
    std::vector<int> replica_of_step_; ///< index in `replicas_`
    std::vector<std::array<Lane, kLaneCount>> lines_;
    std::vector<std::vector<Span>> mismatches_;
    std::array<bool, kLaneCount> used_{};
    TimeRange extent_;
};

/// Kind of item that the spans of a lane refer to.
[[nodiscard]] constexpr ItemKind itemKind(LaneKind lane) {
    switch (lane) {
    case LaneKind::Compute: return ItemKind::Op;
    case LaneKind::Bubble: return ItemKind::Bubble;
    case LaneKind::Check: return ItemKind::Check;
    case LaneKind::ReplicaWait: return ItemKind::ReplicaWait;
    default: return ItemKind::Comm;
    }
}

/// Busy fraction of all ranks over a complete run, in bins of equal length. Immutable.
class Overview {
public:
    static constexpr std::size_t kBins = 2048;

    Overview() = default;
    /// Linear in the number of ops and bubbles.
    explicit Overview(const Lanes& lanes);
    /// Creates an overview from kBins busy fractions.
    Overview(const TimeRange& extent, const std::vector<float>& busy);

    struct Bin {
        float busy = 0;   ///< fraction of all ranks' time that ops cover
        float bubble = 0; ///< fraction of the time in bubbles within steps; the rest is between steps
    };
    [[nodiscard]] const TimeRange& extent() const { return extent_; }
    [[nodiscard]] const std::vector<Bin>& bins() const { return bins_; }
    /// Mean over a part of the run. `from` and `to` are fractions of the run.
    [[nodiscard]] Bin mean(double from, double to) const;

private:
    void add(const Lane& lane, float Bin::*member, double weight);

    TimeRange extent_;
    std::vector<Bin> bins_;
};

} // namespace bubblescope::gui
