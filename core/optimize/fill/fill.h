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
#include <string>
#include <vector>

/// Computes how much other work fits into the bubbles of a run's steps, how much it would cost the step, and whether it
/// pays off.
namespace bubblescope {

/// A recurring bubble: the idle time before the same op of a rank in each step. Only counts waits for an input, the
/// time before a rank's first op and the time after its last one; time lost for unknown reasons may not be available to
/// other work.
struct FillBubble {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::size_t next_op =
        0; ///< index, in the rank's list, of the op that must not be delayed; the number of its ops if none follows
    TimeNs start{0};                                       ///< in the typical step, from its start
    TimeNs mean{0};                                        ///< over the steps
    TimeNs sure{0};                                        ///< 10th percentile over the steps
    std::optional<std::int64_t> free_bytes = std::nullopt; ///< minimum free memory in it; none without a memory model
};

/// The kinds of work that can be tried, and their requirements.
enum class FillKind : std::uint8_t {
    WeightGradients, ///< weight gradients of whole backwards, or W ops: moved into later bubbles
    Recomputation,   ///< re-executes a chunk's forward before its backward, so that its activations need not be kept
    Optimizer,       ///< the optimizer step of each chunk whose gradients are complete
    Encoder,         ///< forwards of another model, one per micro-batch
    Checkpoint,      ///< a copy of a rank's weights, in pieces of any length
    Checks,          ///< re-executes forwards and compares them bit by bit
    SideJob,         ///< kernels of another job, repeatedly
};
[[nodiscard]] const char* fillKindName(FillKind kind); ///< "weight-gradients", "recomputation", …

struct FillOptions {
    double margin = 0.1;               ///< fraction of its time by which a piece may take longer
    TimeNs latency{10'000};            ///< per piece, time from the decision to the start of the work
    double weight_share = 0.5;         ///< fraction of a whole backward's time that the weight gradient takes
    std::optional<TimeNs> optimizer;   ///< of a rank; if not given, from the steps' optimizer ops
    std::optional<TimeNs> encoder;     ///< one forward of one micro-batch
    std::int64_t encoder_bytes = 0;    ///< bytes kept per forward until the pipeline uses its output
    std::optional<TimeNs> checkpoint;  ///< the copy of one rank's weights
    std::vector<TimeNs> side_job;      ///< kernel lengths; none without a side job
    std::int64_t side_bytes = 0;       ///< bytes that the side job needs to run
    std::optional<MemoryModel> memory; ///< for all stages; used with `budget`
    std::int64_t budget = 0;           ///< bytes per rank
};

/// The work placed in one bubble.
struct FilledBubble {
    std::size_t bubble = 0; ///< index in FillStudy::bubbles
    int pieces = 0;
    TimeNs time{0}; ///< without margin and latency
};

/// One kind of work, tried alone.
struct FilledWork {
    FillKind kind = FillKind::SideJob;
    std::int64_t offered = 0; ///< pieces per step; 0 for a side job and a checkpoint, which use whatever is free
    std::int64_t placed = 0;
    TimeNs offered_time{0}; ///< 0 for a side job
    TimeNs time{0};         ///< placed per step, over all ranks
    double share = 0;       ///< fraction of the bubbles' mean time
    TimeNs delay{0};        ///< average increase of the step time, found by replaying the steps
    TimeNs late_delay{0};   ///< increase that 95 of 100 steps do not exceed
    TimeNs gain{0};         ///< time by which a step gets shorter, because work is moved out of ops or would otherwise
                            ///< follow the step
    bool worth = false;
    Sentence reason; ///< of the verdict
    std::vector<FilledBubble> bubbles;
};

struct FillStudy {
    int steps = 0;                   ///< number of steps that ran in the typical step's order; others are left out
    TimeNs step_time{0};             ///< mean
    TimeNs idle{0};                  ///< mean, in the bubbles of all ranks
    double idle_share = 0;           ///< fraction of the ranks' time
    Rank busiest;                    ///< the rank with the least idle time
    std::vector<FillBubble> bubbles; ///< by rank and start
    std::vector<FilledWork> works;   ///< by FillKind; only those that the options and the steps provide
};

/// Determines which work fits. `steps` are complete steps of one run, or one simulated step; `typical` is one of them,
/// and steps that ran in another order are left out. Pieces are placed where they may run, most urgent first, if they
/// fit with margin and latency into the bubble lengths that 9 of 10 steps reach. The delay is then found by replaying
/// each step with its own bubbles: if a bubble is shorter than the work placed in it, the next op starts late, and so
/// does everything that waits for it. Errors: Usage for an invalid margin, latency or fraction, or a memory model for
/// other stages.
[[nodiscard]] Result<FillStudy> studyFill(std::span<const StepTimeline* const> steps, const StepTimeline& typical,
                                          const FillOptions& options);

} // namespace bubblescope
