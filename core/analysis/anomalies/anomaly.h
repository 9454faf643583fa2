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
    HiddenStraggler,
    SlowStage,
    LastStageImbalance,
    SlowOp,
    DataImbalance,
    SlowLink,
    DegradingLink,
    ExposedCommunication,
    GradientExchange,
    TimeBetweenSteps,
    OrderDeparture,
    MissingOp,
    DuplicateOp,
    OutOfPlaceOp,
    BubbleAboveForm,
    BlockingReceive,
    LaunchBound,
    LongWarmUp,
    StepTimeChange,
    LongSteps,
    HostStarved,
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
    std::string_view meaning; ///< when it is reported, in one sentence
};

/// All kinds, in the order of the enumeration.
[[nodiscard]] std::span<const AnomalyKindInfo> anomalyKinds();
[[nodiscard]] std::string_view anomalyKindName(AnomalyKind kind);

/// In how many steps of a run a finding was seen, and its total cost.
struct Occurrence {
    std::int64_t cases = 1; ///< single events: slow ops, departures, waits
    int steps = 0;          ///< steps with a case; 0 if it does not concern steps, like damaged files
    int of_steps = 0;       ///< examined steps
    int since_first = 0;    ///< examined steps from the first with a case on
    int first = 0;          ///< StepTimeline::index of the first step
    int last = 0;           ///< StepTimeline::index of the last step
    bool goes_on = false;   ///< the next case would be due only after the last step
    TimeNs total{0};        ///< cost over all steps with a case; 0 if unknown
    /// Which of the 64 step numbers up to `last` have a case, as bits: bit i is step last - i. 0 if unknown.
    std::uint64_t latest = 0;
};

/// A fault that a user should know about, with the numbers that show it. It represents all cases of its kind at its
/// place; `op`, `step`, `when` and the evidence are those of the worst case.
struct Anomaly {
    AnomalyKind kind = AnomalyKind::Straggler;
    Severity severity = Severity::Notice;
    std::optional<Rank> rank;   ///< the rank that causes it; for a link, the sender
    std::optional<Rank> peer;   ///< for a link, the receiver
    std::optional<int> replica; ///< if it concerns one of several
    std::optional<Chunk> chunk; ///< none if it concerns the whole rank
    std::optional<Op> op;       ///< none if it does not concern a single op
    std::optional<int> step;    ///< StepTimeline::index; none if it concerns all steps
    std::optional<TimeInterval> when;
    TimeNs cost{0}; ///< median of how much shorter a step with a case would be without it; 0 if unknown
    Occurrence seen;
    std::vector<std::pair<std::string, double>> evidence; ///< times have names ending in _ns
    Sentence message;                                     ///< what is wrong
    Sentence suggestion;                                  ///< what to do about it

    /// The total cost divided by the number of examined steps. Findings are sorted by it.
    [[nodiscard]] TimeNs meanCost() const { return seen.of_steps > 0 ? seen.total / seen.of_steps : cost; }
};

/// Equal for the same anomaly at two times during a run, or as seen by two analyses.
[[nodiscard]] std::string identityOf(const Anomaly& anomaly);

} // namespace bubblescope
