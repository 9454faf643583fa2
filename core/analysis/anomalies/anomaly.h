#pragma once

#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"
#include "core/schedule/op.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

enum class Severity : std::uint8_t { Notice, Warning, Serious };

[[nodiscard]] std::string_view severityName(Severity severity); ///< "notice", "warning", "serious"

enum class AnomalyKind : std::uint8_t {
    Straggler,
    SlowStage,
    LastStageImbalance,
    SlowOp,
    SlowLink,
    DegradingLink,
    OrderDeparture,
    MissingOp,
    DuplicateOp,
    OutOfPlaceOp,
    BubbleAboveForm,
    BlockingReceive,
    LaunchBound,
    StepTimeChange,
    ClockSkew,
    CausalityViolation,
    LostRecords,
    MemoryAboveEstimate,
    AadiffMismatch,
    AadiffUnchecked,
};

/// A kind for people and scripts.
struct AnomalyKindInfo {
    AnomalyKind kind = AnomalyKind::Straggler;
    std::string_view name;    ///< stable slug: "slow-stage"
    std::string_view meaning; ///< one sentence: when it is reported
};

/// All kinds, in the order of the enumeration.
[[nodiscard]] std::span<const AnomalyKindInfo> anomalyKinds();
[[nodiscard]] std::string_view anomalyKindName(AnomalyKind kind);

/// A fault that a user should know of, with the numbers that show it.
struct Anomaly {
    AnomalyKind kind = AnomalyKind::Straggler;
    Severity severity = Severity::Notice;
    std::optional<Rank> rank;   ///< that causes it; of a link the sender
    std::optional<Rank> peer;   ///< of a link the receiver
    std::optional<int> replica; ///< where it concerns one of several
    std::optional<Chunk> chunk; ///< none when it concerns all of the rank
    std::optional<Op> op;       ///< none when it concerns no single op
    std::optional<int> step;    ///< StepTimeline::index; none when it concerns all steps
    std::optional<TimeInterval> when;
    TimeNs cost{0}; ///< by what a step would be shorter without it; 0 where that is not known
    std::vector<std::pair<std::string, double>> evidence; ///< times end in _ns
    Sentence message;                                     ///< what is wrong
    Sentence suggestion;                                  ///< what to do about it
};

} // namespace bubblescope
