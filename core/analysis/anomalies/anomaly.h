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
    std::string_view meaning; ///< condition for reporting it, in one sentence
};

/// All kinds, in the order of the enumeration.
[[nodiscard]] std::span<const AnomalyKindInfo> anomalyKinds();
[[nodiscard]] std::string_view anomalyKindName(AnomalyKind kind);

/// How often a finding occurred in the steps of a run, and its total cost.
struct Occurrence {
    std::int64_t cases = 1; ///< number of individual events: slow ops, departures, waits
    int steps = 0;          ///< number of steps with a case; 0 for findings that are not about steps, such as corrupt
                            ///< files
    int of_steps = 0;       ///< number of examined steps
    int since_first = 0;    ///< number of examined steps, starting with the first that has a case
    int first = 0;          ///< StepTimeline::index of the first step
    int last = 0;           ///< StepTimeline::index of the last step
    bool goes_on = false;   ///< true if the next case is expected after the last step, so that the finding may continue
    TimeNs total{0};        ///< cost over all steps with a case; 0 if unknown
    /// Bit mask of the 64 steps up to `last`: bit i is set if step last - i has a case. 0 if unknown.
    std::uint64_t latest = 0;
};

/// A fault to report to the user, with the numbers that show it. Represents all cases of a kind at one location. `op`,
/// `step`, `when` and the evidence are those of the worst case.
struct Anomaly {
    AnomalyKind kind = AnomalyKind::Straggler;
    Severity severity = Severity::Notice;
    std::optional<Rank> rank;   ///< rank that causes the fault; for a link, the sender
    std::optional<Rank> peer;   ///< for a link, the receiver
    std::optional<int> replica; ///< set if only one of several replicas is affected
    std::optional<Chunk> chunk; ///< none if all chunks of the rank are affected
    std::optional<Op> op;       ///< set only if a single op is affected
    std::optional<int> step;    ///< StepTimeline::index; none if all steps are affected
    std::optional<TimeInterval> when;
    TimeNs cost{0}; ///< median time that an affected step would save without the fault; 0 if unknown
    Occurrence seen;
    std::vector<std::pair<std::string, double>> evidence; ///< times have names ending in _ns
    Sentence message;                                     ///< what is wrong
    Sentence suggestion;                                  ///< what to do about it

    /// The total cost divided by the number of examined steps. Findings are sorted by this value.
    [[nodiscard]] TimeNs meanCost() const { return seen.of_steps > 0 ? seen.total / seen.of_steps : cost; }
};

/// A key that is the same for one anomaly at different times in a run and in different analyses.
[[nodiscard]] std::string identityOf(const Anomaly& anomaly);

} // namespace bubblescope
