#pragma once

#include "core/schedule/op.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bubblescope {

/// The quantity described by a measure.
enum class Subject : std::uint8_t {
    Step,       ///< time of the pipeline window
    RankBubble, ///< idle time of a rank
    Bubble,     ///< the part of a rank's idle time that was observed at one position
    StageWork,  ///< total time of the F, B, I and W ops of a stage
    OpGroup,    ///< median time of ops of one kind, chunk and phase
    Transfer,   ///< median time of transfers from one rank to another, after both sides posted them
    Op,         ///< time of a single op minus the median of its group
};

/// A rank's phases; see findPhases().
enum class Phase : std::uint8_t { WarmUp, Steady, CoolDown };

/// Identifies a measure. Fields not needed for a subject keep their defaults.
struct MeasureKey {
    Subject subject = Subject::Step;
    int replica = 0;
    int rank = -1;
    int peer = -1;  ///< for a transfer: the receiver
    int chunk = -1; ///< for ops
    int stage = -1;
    OpKind kind = OpKind::Forward;
    Phase phase = Phase::WarmUp;
    Position position = Position::BeforeWarmup;
    Payload payload = Payload::Activation;
    int microbatch = -1;
    int sequence = 0;

    friend auto operator<=>(const MeasureKey&, const MeasureKey&) = default;
};

/// A value in nanoseconds, and how often it occurs per step. The total cost of a change is the product of both.
struct Measured {
    double value = 0;
    std::int64_t times = 1;
};

using StepMeasures = std::map<MeasureKey, Measured>;

/// The granularity at which two runs are matched.
enum class Matching : std::uint8_t {
    ByRank,  ///< op by op, for equal p, v and placement
    ByStage, ///< stage by stage, for equal numbers of stages on different ranks
    InTotal, ///< otherwise: only steps and idle time
};

/// All measures of one step. `timelines` has one entry per replica that ran the step.
[[nodiscard]] StepMeasures measureStep(std::span<const StepTimeline* const> timelines, Matching matching);

/// A part of a step that a measure covers.
struct MeasuredPart {
    Rank rank;
    TimeInterval interval; ///< on the step's clock
};

/// The parts of a step that a measure covers: its ops, bubbles or sends, sorted by rank and start. Empty for the step
/// itself. `bubbles` must be those of the step; see findBubbles(). Linear in ops, bubbles and spans.
[[nodiscard]] std::vector<MeasuredPart> whereIs(const MeasureKey& key, const StepTimeline& step,
                                                std::span<const std::vector<Bubble>> bubbles);

} // namespace bubblescope
