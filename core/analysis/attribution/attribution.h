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

/// What can make a rank wait.
enum class RootCauseKind : std::uint8_t {
    SlowStage, ///< a chunk's ops usually take longer than those of the typical stage
    SlowOp,    ///< an op took longer than is usual on its stage
    SlowLink,  ///< a transfer took longer than is typical
    // An op began later than it could, classified by the records of the delay (DelayParts):
    InTransfer, ///< its rank had a transfer under way
    Blocked,    ///< its rank was in a send, receive or wait, and nothing was under way
    ReplayedWork,
    LateStart, ///< nothing is recorded
};

[[nodiscard]] std::string_view
rootCauseKindName(RootCauseKind kind); ///< "slow-stage", "slow-op", "slow-link", "late-start" …

/// One op, transfer or start, and by how much it exceeds what is usual.
struct Excess {
    RootCauseKind kind = RootCauseKind::SlowOp;
    UnitIndex unit = kNoUnit; ///< of a transfer the one that it feeds
    TimeNs time{0};

    friend constexpr bool operator==(const Excess&, const Excess&) = default;
};

/// An interval in which a rank waited, and why.
struct AttributedBubble {
    Rank rank;
    UnitIndex before = kNoUnit; ///< the unit that the rank waited to run; kNoUnit behind its last
    TimeNs start{0};            ///< from the step's begin
    TimeNs end{0};
    /// Of the wait, what would remain here if all ops and transfers took their typical time and nothing began late: the
    /// schedule's part.
    TimeNs usual{0};
    /// The largest excess on the chain of ops and transfers that the rank waited for; none where it is the schedule's
    /// wait alone, or where the rank waited since it was itself faster than usual.
    std::optional<Excess> cause;

    friend constexpr bool operator==(const AttributedBubble&, const AttributedBubble&) = default;
};

class AttributedBubbles;

/// Over bubbles rank after rank, which it makes as it reads them.
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

/// The bubbles of a step, rank after rank, each rank's by time, in 40 bytes each: a step has about as many as ops.
class AttributedBubbles {
public:
    using Iterator = AttributedBubbleIterator;

    AttributedBubbles() = default;
    /// `begin` is the place of each rank's first bubble, and their number: all are to be set().
    explicit AttributedBubbles(std::vector<std::size_t> begin) : begin_(std::move(begin)) {
        resizeLarge(packed_, begin_.back());
    }
    /// AttributedBubble::rank is the rank of the place. Several threads may set different places.
    void set(std::size_t place, const AttributedBubble& bubble);
    /// All waits become the schedule's.
    void acquit();

    [[nodiscard]] std::size_t size() const { return packed_.size(); }
    [[nodiscard]] Iterator begin() const { return {*this, 0, 0}; }
    [[nodiscard]] Iterator end() const { return {*this, packed_.size(), ranks()}; }
    /// Those of one rank.
    struct OfRank {
        Iterator from;
        Iterator to;
        [[nodiscard]] Iterator begin() const { return from; }
        [[nodiscard]] Iterator end() const { return to; }
    };
    /// None of a rank that the step does not have.
    [[nodiscard]] OfRank of(Rank rank) const;
    /// The memory of it all.
    [[nodiscard]] std::size_t bytes() const {
        return packed_.capacity() * sizeof(Packed) + begin_.capacity() * sizeof(std::size_t);
    }

private:
    friend AttributedBubbleIterator;
    struct Packed {
        TimeNs start;
        TimeNs end;
        TimeNs usual;
        std::int64_t excess; ///< of the cause, times 8, and its kind
        UnitIndex before;
        UnitIndex unit; ///< of the cause; kNoUnit where there is none
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

/// A cause of waits, and how much of whose time it cost.
struct RootCause {
    RootCauseKind kind = RootCauseKind::SlowOp;
    Rank rank;                     ///< that ran the ops, or sent the transfers
    std::optional<Rank> peer;      ///< of a link: to whom
    std::optional<UnitIndex> unit; ///< of a slow op
    std::optional<Chunk> chunk;    ///< of a slow stage
    std::int64_t count = 0;        ///< ops, transfers or starts concerned
    TimeNs excess{0};              ///< in all, over what is usual
    TimeNs waits{0};               ///< its part of what all ranks waited longer than usual
    TimeNs saves{0};               ///< by how much the step is shorter without this excess; a replay
    std::vector<TimeNs> idle;      ///< the same replay, per rank: by how much its bubble is shorter, negative if longer
};

struct StepAttribution {
    AttributedBubbles bubbles;
    std::vector<RootCause>
        ranking;           ///< those that made wait most, kMaxRootCauses at most; the one that saves most first
    TimeNs usual{0};       ///< of all bubbles: the schedule's part
    TimeNs attributed{0};  ///< of all bubbles: longer than that, and excess found
    TimeNs unexplained{0}; ///< of all bubbles: longer than that, but no excess on the chain
};
inline constexpr std::size_t kMaxRootCauses = 6;

/// Follows each wait back along the chain of what came last, to the point from which the rank itself came too: what
/// lies on the chain since then made the wait. The time by which the wait is longer than at
/// typical times is attributed to the excess there, in proportion. Linear in units, but for a logarithm in the search
/// of that point. `observed`, `replay` and `usual` were made of the step.
[[nodiscard]] StepAttribution attributeWaits(const StepTimeline& step, const ObservedStep& observed,
                                             const StepReplay& replay, const UnitTimes& usual);

/// The attributed bubble that covers most of an interval of a rank (from the step's begin); none where none does. Waits
/// are cut at ops of other streams too, so a bubble may hold several. Linear in the rank's bubbles.
[[nodiscard]] std::optional<AttributedBubble> findAttributed(const StepAttribution& attribution, Rank rank,
                                                             const TimeInterval& interval);

/// What a rank waited for in a bubble: the unit that ran after it, then back along what each waited for last, up to and
/// with the unit from which the rank itself came. Empty behind a rank's last unit. `latest` are the bindings of
/// `graph`. Linear in units.
[[nodiscard]] std::vector<UnitIndex> waitChain(const StepGraph& graph, const std::vector<Binding>& latest,
                                               const AttributedBubble& bubble);

} // namespace bubblescope
