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

/// The name and meaning of a kind of anomaly.
struct AnomalyKindInfo {
    AnomalyKind kind = AnomalyKind::Straggler;
    std::string_view name;    ///< stable slug: "slow-stage"
    std::string_view meaning; ///< when it is reported, in one sentence
};

/// All kinds, in the order of the enumeration.
[[nodiscard]] std::span<const AnomalyKindInfo> anomalyKinds();
[[nodiscard]] std::string_view anomalyKindName(AnomalyKind kind);

/// The number of steps of a run in which a finding was seen, and its total cost.
struct Occurrence {
    std::int64_t cases = 1; ///< single events: slow ops, departures, waits
    int steps = 0;          ///< number of steps with a case; 0 for findings that do not concern steps, such as damaged
                            ///< files
    int of_steps = 0;       ///< number of examined steps
    int since_first = 0;    ///< number of examined steps from the first one with a case
    int first = 0;          ///< StepTimeline::index of the first step
    int last = 0;           ///< StepTimeline::index of the last step
    bool goes_on = false;   ///< the next case is due only after the last step, so the finding may be continuing
    TimeNs total{0};        ///< cost over all steps with a case; 0 if unknown
    /// The step numbers with a case among the 64 up to `last`, as bits: bit i is step last - i. 0 if unknown.
    std::uint64_t latest = 0;
};

/// A fault that a user should know about, with the numbers that show it. It represents all cases of its kind at its
/// place; `op`, `step`, `when` and the evidence are those of the worst case.
struct Anomaly {
    AnomalyKind kind = AnomalyKind::Straggler;
    Severity severity = Severity::Notice;
    std::optional<Rank> rank;   ///< the rank that causes it; for a link, the sender
    std::optional<Rank> peer;   ///< for a link, the receiver
    std::optional<int> replica; ///< set if it concerns one of several replicas
    std::optional<Chunk> chunk; ///< none if it concerns the whole rank
    std::optional<Op> op;       ///< none if it does not concern a single op
    std::optional<int> step;    ///< StepTimeline::index; none if it concerns all steps
    std::optional<TimeInterval> when;
    TimeNs cost{0}; ///< median of the time that a step with a case would save without it; 0 if unknown
    Occurrence seen;
    std::vector<std::pair<std::string, double>> evidence; ///< times have names ending in _ns
    Sentence message;                                     ///< what is wrong
    Sentence suggestion;                                  ///< what to do about it

    /// The total cost divided by the number of examined steps. Findings are sorted by it.
    [[nodiscard]] TimeNs meanCost() const { return seen.of_steps > 0 ? seen.total / seen.of_steps : cost; }
};

/// A text that is equal for the same anomaly at two times during a run, or as seen by two analyses.
[[nodiscard]] std::string identityOf(const Anomaly& anomaly);

} // namespace bubblescope
