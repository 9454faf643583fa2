#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/graph/step_replay.h"

#include <cstdint>
#include <optional>
#include <string_view>
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
};

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
    std::vector<AttributedBubble> bubbles; ///< per rank, by time
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

/// The attributed bubble that covers most of an interval of a rank (from the step's begin); null where none does. Waits
/// are cut at ops of other streams too, so a bubble may hold several.
[[nodiscard]] const AttributedBubble* findAttributed(const StepAttribution& attribution, Rank rank,
                                                     const TimeInterval& interval);

/// What a rank waited for in a bubble: the unit that ran after it, then back along what each waited for last, up to and
/// with the unit from which the rank itself came. Empty behind a rank's last unit. `latest` are the bindings of
/// `graph`. Linear in units.
[[nodiscard]] std::vector<UnitIndex> waitChain(const StepGraph& graph, const std::vector<Binding>& latest,
                                               const AttributedBubble& bubble);

} // namespace bubblescope
