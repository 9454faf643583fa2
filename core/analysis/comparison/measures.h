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

/// What one number per step says something about.
enum class Subject : std::uint8_t {
    Step,       ///< time of the pipeline window
    RankBubble, ///< idle time of a rank
    Bubble,     ///< the part of it at one position, as it ran
    StageWork,  ///< all F, B, I and W of a stage together
    OpGroup,    ///< median op of one kind, chunk and phase
    Transfer,   ///< median transfer from one rank to another, counted from when both sides were there
    Op,         ///< a single op, less the median op of its group: what sets it apart from its likes
};

/// A rank's phases, see findPhases().
enum class Phase : std::uint8_t { WarmUp, Steady, CoolDown };

/// Names a measure. What a subject does not need keeps its default.
struct MeasureKey {
    Subject subject = Subject::Step;
    int replica = 0;
    int rank = -1;
    int peer = -1;  ///< a transfer's receiver
    int chunk = -1; ///< of ops
    int stage = -1;
    OpKind kind = OpKind::Forward;
    Phase phase = Phase::WarmUp;
    Position position = Position::BeforeWarmup;
    Payload payload = Payload::Activation;
    int microbatch = -1;
    int sequence = 0;

    friend auto operator<=>(const MeasureKey&, const MeasureKey&) = default;
};

/// In nanoseconds, and how often a step holds the thing: what its change costs in all.
struct Measured {
    double value = 0;
    std::int64_t times = 1;
};

using StepMeasures = std::map<MeasureKey, Measured>;

/// The properties by which ops of two runs can be matched.
enum class Matching : std::uint8_t {
    ByRank,  ///< the same p, v and placement: op by op
    ByStage, ///< as many stages, elsewhere: stage by stage
    InTotal, ///< otherwise: steps and their idle time alone
};

/// All measures of one step, which several replicas may have run: `timelines` is one each.
[[nodiscard]] StepMeasures measureStep(std::span<const StepTimeline* const> timelines, Matching matching);

/// A part of a step that a measure covers.
struct MeasuredPart {
    Rank rank;
    TimeInterval interval; ///< on the step's clock
};

/// Where in a step a measure comes from: its ops, bubbles or sends, by rank and start. Nothing for the step itself.
/// `bubbles` are those of the step, see findBubbles(). Linear in ops, bubbles and spans.
[[nodiscard]] std::vector<MeasuredPart> whereIs(const MeasureKey& key, const StepTimeline& step,
                                                std::span<const std::vector<Bubble>> bubbles);

} // namespace bubblescope
