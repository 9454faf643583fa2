#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/graph/dispatch.h"
#include "core/schedule/action.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"
#include "profiler/kernels/kernel_recorder.h"
#include "profiler/recorder/ring.h"
#include "runtime/backend/rank_queue.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/transport.h"
#include "runtime/engine/bubble_hook.h"
#include "runtime/engine/rank_hook.h"
#include "runtime/faults/fault.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace bubblescope::runtime {

/// An order, and the policy with which ranks follow it.
struct RunOrder {
    Schedule schedule;
    DispatchPolicy dispatch = {};
};

/// The work that the engine executes.
struct EngineConfig {
    Schedule schedule; ///< must be valid; trailing optimizer ops are ignored, because each step ends with one
                       ///< optimizer op
    /// Per rank, the schedule's actions (LoweredSchedule::actions). The engine executes only the actions on
    /// activations; it sends, receives and reduces according to its own rules. Empty = none.
    std::vector<std::vector<Action>> actions;
    int steps = 3;
    /// True if each rank has an emulated device clock. An op then begins when its inputs have arrived and the device is
    /// free on that clock, and ends after its nominal time in `times`. If the op's computation exceeds that time by
    /// more than `pace_tolerance`, the op ends when the computation is done. The lateness of the host is recorded with
    /// every op. With a tolerance of 0, every delay of the machine lengthens the op. The default exceeds the wake-up
    /// delays of a machine with slightly more tasks than cores. An op without a nominal time takes its measured time.
    bool paced = true;
    CostModel times; ///< nominal op times and transfer latency
    TimeNs pace_tolerance{10'000'000};
    int replicas = 1;          ///< replicas of the pipeline (dp), each with its own micro-batches; RunMesh defines
                               ///< their ranks
    int tensor_ranks = 1;      ///< ranks that share each stage (tp), a divisor of the model's heads; see TensorShard
    std::vector<Fault> faults; ///< faults to inject, which are named in the trace; must have passed checkFaults()
    BubbleHook bubble_hook;    ///< empty = none
    /// The policy with which ranks choose their ops. Unless ranks follow their lists, the schedule is only a hint:
    /// neither the bubble hook nor checks are possible, and ranks cannot share stages.
    DispatchPolicy dispatch;
    /// Ends the run after the current step if a stop is requested, as if that step were the last one of the run.
    /// Ignored if ranks are processes.
    std::stop_token end_early;
};

/// The device and transport for executing the work, and the ranks that take part.
struct EngineParts {
    HostClock& clock;
    StageFactory make_stage;
    /// Set if ranks compute on a device instead of the host; the device then creates the stages.
    struct Devices {
        std::function<std::shared_ptr<RankQueue>()> open; ///< called on each rank's thread
        std::function<std::unique_ptr<StageModel>(RankQueue&, const StageTask&)> make_stage;
    };
    std::optional<Devices> devices = std::nullopt;
    /// The ranks that this process runs as threads; other ranks may run in other processes.
    std::vector<Transport*> ranks;
    std::vector<profiler::RecordRing*> rings = {}; ///< destination of each rank's records; empty = none
    profiler::KernelRecorder* kernels = nullptr;   ///< notified of everything that ranks launch on devices; may be null
    /// The effect of an injected death on the rank's process; by default the run ends with an error that reports the
    /// death.
    std::function<void()> die = {};
    /// Called by the first of `ranks` when all ranks have recorded a complete step; an error ends the run.
    std::function<Status()> after_step = {};
    AttachHook attach = {}; ///< creates each rank's hook; empty = none
    /// Called by the first of `ranks` after each step, with the ops and transfers of the first replica. Starting two
    /// steps later, ranks follow the returned order, which must have the same ops. Empty = the order never changes.
    /// Requires that all ranks run in this process.
    std::function<std::optional<RunOrder>(const StepTimeline&)> next_order = {};
};

struct EngineResult {
    /// For each update of the weights (a step has at least one), the losses of all pipelines, replica by replica; 0 if
    /// a pipeline's last stage is in another process.
    std::vector<std::vector<double>> losses;
    /// The trained stages, by replica and tensor rank (see RunMesh::laneOf()), then by stage; null for stages in other
    /// processes.
    std::vector<std::vector<std::unique_ptr<StageModel>>> stages;
    std::vector<MemoryUse> memory; ///< memory use of each rank of this process when that rank's total peaked
    std::int64_t ops = 0;          ///< number of ops executed by the ranks of this process, including optimizer ops
    std::int64_t late_ops = 0;     ///< number of ops whose end was moved to the end measured on the host
    TimeNs max_lateness{0};
};

/// Executes the schedule `steps` times, with one thread for each rank of this process. The result depends only
/// on the lists of ops. The engine does not depend on schedule families, and communicates with other ranks only
/// over the transport. The two ops of an overlapped pair run as one: they begin when the inputs of both have
/// arrived, and they end together. In paced runs the pair's time is CostModel::overlapped, or the sum of both
/// times.
///
/// Each rank runs its list. Then all ranks run an optimizer op. The optimizer begins on all ranks when the last
/// gradient on any rank is complete, as clipping by the global norm requires. The optimizer op therefore runs after the
/// pipeline and fills no bubble. If two pipelines, or replicas, hold copies of the model, the copies' gradients are
/// exchanged before the optimizer op. The exchange takes a transfer's latency. The gradients are summed in the order of
/// DataPlan, so the copies stay identical. The next step begins at the same time on all ranks, when all optimizer ops
/// have ended. In paced runs an op without a nominal time, such as the optimizer by default, takes its measured time.
///
/// An order may also update weights between other ops (core/schedule/weight_versions.h). Such an update is local to its
/// rank; ops use the weight version that the order assigns to their micro-batch, and each update uses separate data.
///
/// If ranks share stages, the sums inside an op are part of the op (see TensorGroup), and all ranks that share a stage
/// run the same list.
///
/// Ranks on devices queue their ops, and transfers between them, as far in advance as their inputs allow. Ranks wait
/// for a device only at the end of a step's ops and after the optimizer, to get the times of all ops. In paced runs,
/// the device stays busy until an op's nominal time has passed, and a transfer lasts until its latency has passed.
///
/// `control.total` is set to the number of ops in this process, `control.done` counts completed ops, and `control.stop`
/// is polled between ops. Errors: Run, naming the rank and op, if a rank fails, which ends all others; Cancelled; an
/// error of `after_step`; the transport's error if a rank has died or hangs. All objects that `config` and `parts`
/// refer to must outlive the call.
[[nodiscard]] Result<EngineResult> runEngine(const EngineConfig& config, const EngineParts& parts, JobControl& control);

} // namespace bubblescope::runtime
