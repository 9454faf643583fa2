#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/base/large_list.h"
#include "core/graph/step_replay.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The causes of a rank's waits.
enum class RootCauseKind : std::uint8_t {
    SlowStage, ///< a chunk's ops usually take longer than those of the typical stage
    SlowOp,    ///< an op took longer than usual on its stage
    SlowLink,  ///< a transfer took longer than is typical
    // An op started later than possible. Kinds of late starts, by what was recorded during the delay (DelayParts):
    InTransfer, ///< the rank had a transfer in progress
    Blocked,    ///< the rank was in a send, receive or wait without a transfer in progress
    ReplayedWork,
    LateStart, ///< nothing was recorded
    SlowRank,  ///< nearly all ops of a rank took longer than usual; never the cause of a single bubble
};

[[nodiscard]] std::string_view
rootCauseKindName(RootCauseKind kind); ///< "slow-stage", "slow-op", "slow-link", "late-start" …

/// An op, transfer or late start, and the time by which it exceeds the usual value.
struct Excess {
    RootCauseKind kind = RootCauseKind::SlowOp;
    UnitIndex unit = kNoUnit; ///< for a transfer, the unit that it feeds
    TimeNs time{0};

    friend constexpr bool operator==(const Excess&, const Excess&) = default;
};

/// An interval in which a rank waited, and the cause.
struct AttributedBubble {
    Rank rank;
    UnitIndex before = kNoUnit; ///< the unit that the rank ran next; kNoUnit after the last unit
    TimeNs start{0};            ///< relative to the start of the step
    TimeNs end{0};
    /// The schedule's part of the wait: what would remain if all ops and transfers took their typical time and started
    /// without delay.
    TimeNs usual{0};
    /// The largest excess on the chain of ops and transfers that the rank waited for. None if only the schedule causes
    /// the wait, or if the rank waited because it was faster than usual.
    std::optional<Excess> cause;

    friend constexpr bool operator==(const AttributedBubble&, const AttributedBubble&) = default;
};

class AttributedBubbles;

/// Iterates over bubbles by rank and decodes each on the fly.
class AttributedBubbleIterator {
public:
    using value_type = AttributedBubble;
    using difference_type = std::ptrdiff_t;

    AttributedBubbleIterator() = default;
    AttributedBubble operator*() const;
    AttributedBubbleIterator& operator++() {
        ++index_;
        findRank();
        return *this;
    }
    AttributedBubbleIterator operator++(int) {
        const AttributedBubbleIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const AttributedBubbleIterator& a, const AttributedBubbleIterator& b) {
        return a.index_ == b.index_;
    }

private:
    friend AttributedBubbles;
    AttributedBubbleIterator(const AttributedBubbles& list, std::size_t index, std::size_t rank);
    void findRank();

    const AttributedBubbles* list_ = nullptr;
    std::size_t index_ = 0;
    std::size_t rank_ = 0;
};

/// The bubbles of a step, by rank and time. A bubble uses only 40 bytes, because a step has about as many bubbles as
/// ops.
class AttributedBubbles {
public:
    using Iterator = AttributedBubbleIterator;

    AttributedBubbles() = default;
    /// `begin`: index of each rank's first bubble, then the number of bubbles. Call set() for every bubble afterwards.
    explicit AttributedBubbles(std::vector<std::size_t> begin) : begin_(std::move(begin)) {
        resizeLarge(packed_, begin_.back());
    }
    /// AttributedBubble::rank is derived from the index. Several threads may set different entries.
    void set(std::size_t place, const AttributedBubble& bubble);
    /// Attributes all waits to the schedule.
    void acquit();

    [[nodiscard]] std::size_t size() const { return packed_.size(); }
    [[nodiscard]] Iterator begin() const { return {*this, 0, 0}; }
    [[nodiscard]] Iterator end() const { return {*this, packed_.size(), ranks()}; }
    struct OfRank {
        Iterator from;
        Iterator to;
        [[nodiscard]] Iterator begin() const { return from; }
        [[nodiscard]] Iterator end() const { return to; }
    };
    /// Empty for a rank that does not exist in the step.
    [[nodiscard]] OfRank of(Rank rank) const;
    [[nodiscard]] std::size_t bytes() const {
        return packed_.capacity() * sizeof(Packed) + begin_.capacity() * sizeof(std::size_t);
    }

private:
    friend AttributedBubbleIterator;
    struct Packed {
        TimeNs start;
        TimeNs end;
        TimeNs usual;
        std::int64_t excess; ///< 8 × the cause's excess + the cause's kind
        UnitIndex before;
        UnitIndex unit; ///< unit of the cause; kNoUnit if there is none
    };
    [[nodiscard]] std::size_t ranks() const { return begin_.empty() ? 0 : begin_.size() - 1; }
    [[nodiscard]] AttributedBubble at(std::size_t place, Rank rank) const;

    ListToFill<Packed> packed_;
    std::vector<std::size_t> begin_;
};

inline AttributedBubbleIterator::AttributedBubbleIterator(const AttributedBubbles& list, std::size_t index,
                                                          std::size_t rank)
    : list_(&list), index_(index), rank_(rank) {
    findRank();
}
inline AttributedBubble AttributedBubbleIterator::operator*() const {
    return list_->at(index_, Rank{rank_});
}
inline void AttributedBubbleIterator::findRank() {
    while (rank_ + 1 < list_->begin_.size() && list_->begin_[rank_ + 1] <= index_)
        ++rank_;
}

/// A cause of waits, with its cost for each rank.
struct RootCause {
    RootCauseKind kind = RootCauseKind::SlowOp;
    Rank rank;                     ///< the rank that ran the ops or sent the transfers
    std::optional<Rank> peer;      ///< for a link: the receiver
    std::optional<UnitIndex> unit; ///< for a slow op
    std::optional<Chunk> chunk;    ///< for a slow stage
    std::int64_t count = 0;        ///< number of ops, transfers or late starts that contribute
    TimeNs excess{0};              ///< total time above usual
    TimeNs waits{0};               ///< part of all ranks' excess waiting time that is due to this cause
    TimeNs saves{0};               ///< time that the step saves without this excess, computed by a replay
    std::vector<TimeNs> idle;      ///< reduction of each rank's bubble in that replay; negative if the bubble grows
};

struct StepAttribution {
    AttributedBubbles bubbles;
    std::vector<RootCause> ranking; ///< causes with the most waiting time, at most kMaxRootCauses; sorted by `saves`
    TimeNs usual{0};                ///< part of all bubbles' time that is due to the schedule
    TimeNs attributed{0};           ///< remaining time with a known cause
    TimeNs unexplained{0};          ///< remaining time without a known cause
};
inline constexpr std::size_t kMaxRootCauses = 6;

/// Follows each wait back along the chain of latest predecessors to where this chain meets the rank's own chain. The
/// units and transfers after that point caused the wait. The part of the wait that exceeds its length at typical times
/// is divided among these in proportion to their excess. Linear in units, apart from the logarithmic search for the
/// meeting point. `observed`, `replay` and `usual` must belong to the step.
[[nodiscard]] StepAttribution attributeWaits(const StepTimeline& step, const ObservedStep& observed,
                                             const StepReplay& replay, const UnitTimes& usual);

/// The attributed bubble that covers most of an interval of a rank (relative to the start of the step), if any. An op
/// on another stream also splits a wait, so a bubble may contain several waits. Linear in the rank's bubbles.
[[nodiscard]] std::optional<AttributedBubble> findAttributed(const StepAttribution& attribution, Rank rank,
                                                             const TimeInterval& interval);

/// The chain of units for which a rank waited in a bubble. From the unit after the bubble, the
/// chain follows the latest predecessors back to a unit on the rank's own chain, which is
/// included. Empty after a rank's last unit. `latest` contains the bindings of `graph`. Linear in
/// units.
[[nodiscard]] std::vector<UnitIndex> waitChain(const StepGraph& graph, const std::vector<Binding>& latest,
                                               const AttributedBubble& bubble);

} // namespace bubblescope
