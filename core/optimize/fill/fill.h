#pragma once

#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/cost/memory_model.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Computes how much other work fits into the bubbles of a run's steps, how much it would delay the step, and whether
/// it saves time.
namespace bubblescope {

/// A recurring bubble: the idle time before the same op of a rank in each step. Includes only waits for an input, the
/// time before a rank's first op and the time after its last op. Time that is lost for an unknown reason may not be
/// available for other work.
struct FillBubble {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::size_t next_op =
        0; ///< index in the rank's list of the op that must not be delayed; the list's length for the last bubble
    TimeNs start{0};                                       ///< start in the typical step, relative to the step's start
    TimeNs mean{0};                                        ///< mean length over all steps
    TimeNs sure{0};                                        ///< 10th percentile of the length over all steps
    std::optional<std::int64_t> free_bytes = std::nullopt; ///< minimum free memory; none if there is no memory model
};

/// The kinds of work that can be tried, and their requirements.
enum class FillKind : std::uint8_t {
    WeightGradients, ///< weight gradients of backwards, or W ops, moved into later bubbles
    Recomputation,   ///< re-executes a chunk's forward before its backward, so that its activations need not be stored
    Optimizer,       ///< the optimizer step of each chunk whose gradients are complete
    Encoder,         ///< forwards of another model, one per micro-batch
    Checkpoint,      ///< a copy of a rank's weights, in pieces of any length
    Checks,          ///< re-executes forwards and compares them bit by bit
    SideJob,         ///< kernels of another job, run repeatedly
};
[[nodiscard]] const char* fillKindName(FillKind kind); ///< "weight-gradients", "recomputation", …

struct FillOptions {
    double margin = 0.1;               ///< relative safety margin on the time of a piece
    TimeNs latency{10'000};            ///< time from the decision to run a piece to its start
    double weight_share = 0.5;         ///< weight gradient's fraction of a backward
    std::optional<TimeNs> optimizer;   ///< optimizer time of a rank; default: from the optimizer ops of the steps
    std::optional<TimeNs> encoder;     ///< time of one forward of one micro-batch
    std::int64_t encoder_bytes = 0;    ///< bytes stored per forward until the pipeline uses its output
    std::optional<TimeNs> checkpoint;  ///< time to copy one rank's weights
    std::vector<TimeNs> side_job;      ///< kernel durations; empty if there is no side job
    std::int64_t side_bytes = 0;       ///< bytes that the side job needs to run
    std::optional<MemoryModel> memory; ///< memory of all stages; used with `budget`
    std::int64_t budget = 0;           ///< bytes per rank
};

/// The work placed in one bubble.
struct FilledBubble {
    std::size_t bubble = 0; ///< index in FillStudy::bubbles
    int pieces = 0;
    TimeNs time{0}; ///< time of the work, without margin and latency
};

/// The result of placing one kind of work alone.
struct FilledWork {
    FillKind kind = FillKind::SideJob;
    std::int64_t offered = 0; ///< pieces per step; 0 for a side job and a checkpoint, which use all free time
    std::int64_t placed = 0;
    TimeNs offered_time{0}; ///< time of the offered pieces; 0 for a side job
    TimeNs time{0};         ///< time of placed work per step, over all ranks
    double share = 0;       ///< placed work as a fraction of the bubbles' mean time
    TimeNs delay{0};        ///< mean increase in the step time, computed by replaying the steps
    TimeNs late_delay{0};   ///< 95th percentile of the increase
    TimeNs gain{0};         ///< time saved per step, because the work is moved out of ops or would otherwise follow the
                            ///< step
    bool worth = false;
    Sentence reason; ///< reason for the verdict
    std::vector<FilledBubble> bubbles;
};

struct FillStudy {
    int steps = 0;                   ///< number of steps with the order of the typical step; others are left out
    TimeNs step_time{0};             ///< mean
    TimeNs idle{0};                  ///< mean idle time in the bubbles of all ranks
    double idle_share = 0;           ///< idle time as a fraction of the time of all ranks
    Rank busiest;                    ///< the rank with the least idle time
    std::vector<FillBubble> bubbles; ///< by rank and start
    std::vector<FilledWork> works;   ///< sorted by FillKind; only the kinds that the options and the steps provide
};

/// Determines which work fits into the bubbles. `steps` are complete steps of one run, or one simulated step. `typical`
/// is one of them, and steps with a different order are left out. Pieces are placed where they may run, most urgent
/// first, if they fit, with margin and latency, into the bubble length that 9 of 10 steps reach. The delay is then
/// computed by replaying each step with its own bubbles. If a bubble is shorter than its work, the next op and
/// everything that waits for it start late. Errors: Usage if a margin, latency or fraction is invalid, or if the memory
/// model is for other stages.
[[nodiscard]] Result<FillStudy> studyFill(std::span<const StepTimeline* const> steps, const StepTimeline& typical,
                                          const FillOptions& options);

} // namespace bubblescope
