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

/// What else fits into the bubbles of a run's steps, what it would cost the step, and whether it is worth it.
namespace bubblescope {

/// A bubble that recurs: the idle time before the same op of a rank in each step. Only waits for an input, the time
/// before a rank's first op and that after its last one count; time that a rank lost for an unknown reason may be gone
/// when something else wants it.
struct FillBubble {
    Rank rank;
    Position position = Position::BeforeWarmup;
    std::size_t next_op = 0; ///< index in the rank's list of the op that must not be delayed; the number of its ops at
                             ///< the end
    TimeNs start{0};         ///< in the typical step, from its begin
    TimeNs mean{0};          ///< over the steps
    TimeNs sure{0};          ///< 10th percentile over the steps
    std::optional<std::int64_t> free_bytes = std::nullopt; ///< the least in it; none without a memory model
};

/// Which work is to be tried, and what it takes.
enum class FillKind : std::uint8_t {
    WeightGradients, ///< of backwards that ran whole, or of W ops: moved from where they are into later bubbles
    Recomputation,   ///< a chunk's forward again before its backward, so that its activations need not be kept
    Optimizer,       ///< the optimizer's step of each chunk whose gradients are complete
    Encoder,         ///< forwards of another model, one a micro-batch
    Checkpoint,      ///< a copy of a rank's weights, in pieces of any length
    Checks,          ///< forwards again, compared bit by bit
    SideJob,         ///< kernels of another job, over and over
};
[[nodiscard]] const char* fillKindName(FillKind kind); ///< "weight-gradients", "recomputation", …

struct FillOptions {
    double margin = 0.1;               ///< share of its time by which a piece may take longer
    TimeNs latency{10'000};            ///< from the decision to the first work, for every piece
    double weight_share = 0.5;         ///< of a whole backward's time, for the gradient of the weights
    std::optional<TimeNs> optimizer;   ///< of a rank; from the steps' optimizer ops if not given
    std::optional<TimeNs> encoder;     ///< one forward of one micro-batch
    std::int64_t encoder_bytes = 0;    ///< kept of each until the pipeline uses it
    std::optional<TimeNs> checkpoint;  ///< the copy of one rank's weights
    std::vector<TimeNs> side_job;      ///< kernel lengths; none without a side job
    std::int64_t side_bytes = 0;       ///< that the side job needs to run
    std::optional<MemoryModel> memory; ///< of all stages; with `budget`
    std::int64_t budget = 0;           ///< bytes a rank
};

/// What was put into one bubble.
struct FilledBubble {
    std::size_t bubble = 0; ///< index in FillStudy::bubbles
    int pieces = 0;
    TimeNs time{0}; ///< without margin and latency
};

/// One kind of work, tried alone.
struct FilledWork {
    FillKind kind = FillKind::SideJob;
    std::int64_t offered = 0; ///< pieces a step; 0 for a side job and a checkpoint, which take what there is
    std::int64_t placed = 0;
    TimeNs offered_time{0}; ///< 0 for a side job
    TimeNs time{0};         ///< placed a step, on all ranks
    double share = 0;       ///< of the bubbles' mean time
    TimeNs delay{0};        ///< by which a step gets longer in the mean, by replays of the steps
    TimeNs late_delay{0};   ///< in 95 of 100 steps at most
    TimeNs gain{0}; ///< by which a step gets shorter: of work that is moved out of its way, or that would follow it
    bool worth = false;
    Sentence reason; ///< of the verdict
    std::vector<FilledBubble> bubbles;
};

struct FillStudy {
    int steps = 0;                   ///< that ran in the typical step's order, and so count
    TimeNs step_time{0};             ///< mean
    TimeNs idle{0};                  ///< mean, in the bubbles of all ranks
    double idle_share = 0;           ///< of the ranks' time
    Rank busiest;                    ///< the rank with the least idle time
    std::vector<FillBubble> bubbles; ///< by rank and start
    std::vector<FilledWork> works;   ///< by FillKind; those that the options and the steps have
};

/// Studies what fits. `steps` are complete steps of one run, or one simulated step; `typical` is one of them, and
/// steps that ran in another order are left out. Pieces go where they may run, the most urgent first, where bubble
/// lengths that 9 of 10 steps reach hold them with margin and latency. The delay is then found by replaying each step
/// with its own bubbles: where one is shorter than what was put in, the next op starts late, and what waits for it.
/// Errors: Usage, for a margin, latency or share that makes no sense, or a memory model of other stages.
[[nodiscard]] Result<FillStudy> studyFill(std::span<const StepTimeline* const> steps, const StepTimeline& typical,
                                          const FillOptions& options);

} // namespace bubblescope
