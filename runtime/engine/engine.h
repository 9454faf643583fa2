#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "profiler/recorder/ring.h"
#include "runtime/backend/rank_device.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/transport.h"
#include "runtime/engine/bubble_hook.h"
#include "runtime/engine/rank_hooks.h"
#include "runtime/faults/fault.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace bubblescope::runtime {

/// What the engine executes and with what. References must outlive the call.
struct EngineConfig {
    const Schedule& schedule; ///< must be valid; optimizer ops in it are ignored, since each step ends with one
    const CostModel& times;   ///< nominal op times and transfer latency, used when paced
    int steps = 1;
    std::optional<TimeNs> pace_tolerance; ///< none = not paced
    HostClock& clock;
    StageFactory make_stage;
    /// Where ranks compute, if not on the host; then stages are made here.
    struct Devices {
        std::function<std::shared_ptr<RankDevice>()> open; ///< called by each rank's thread
        std::function<std::unique_ptr<StageModel>(RankDevice&, const StageTask&)> make_stage;
    };
    std::optional<Devices> devices = std::nullopt;
    /// The ranks that run here: all of them as threads of this process, or some while others run elsewhere.
    std::vector<Transport*> ranks;
    int replicas = 1;                         ///< of the pipeline; see RunMesh for how ranks are numbered
    int tensor_ranks = 1;                     ///< that share each stage
    std::vector<profiler::RecordRing*> rings; ///< where each of `ranks` records; empty = nowhere
    std::span<const Fault> faults;            ///< injected; checkFaults() has passed
    /// What an injected death does to the rank's process; by default the run ends with an error that reports it.
    std::function<void()> die;
    /// Called by the first of `ranks` when all ranks have recorded all of a step; an error ends the run.
    std::function<Status()> after_step;
    BubbleHook bubble_hook{};    ///< empty = none
    AttachHooks attach{};        ///< what else a rank does, see there; empty = nothing
    std::stop_token end_early{}; ///< ends all ranks with one step; they must all run here
};

struct EngineResult {
    /// By step that was run, each pipeline's share by its number, replica by replica; 0 where its last stage is
    /// elsewhere.
    std::vector<std::vector<double>> losses;
    /// By replica and tensor rank, see RunMesh::laneOf(), then stage, as trained; null where it is elsewhere.
    std::vector<std::vector<std::unique_ptr<StageModel>>> stages;
    std::vector<MemoryUse> memory; ///< of each of the ranks here, at the moment when its total was largest
    std::int64_t ops = 0;          ///< of the ranks here, optimizer ops included
    std::int64_t late_ops = 0;     ///< ops whose end moved to the host's time
    TimeNs max_lateness{0};
};

/// Executes the schedule `steps` times with one thread for each rank that runs here. What it does depends on the lists
/// alone; it knows no family, and of the other ranks only what comes over the transport. The two ops of an
/// overlapped pair run as one: they begin when the inputs of both are there and end together, on paced runs after
/// CostModel::overlapped, or after the sum of both.
///
/// Each rank runs its list, then all ranks run an optimizer op that begins on all of them when the last
/// gradient anywhere is complete (as clipping by the global norm asks), so it lies behind the pipeline and
/// fills no bubble. Where two pipelines, or replicas, hold the model more than once, the copies' gradients are
/// exchanged in between, which takes a transfer's latency, and summed as DataPlan says, so that the copies stay equal.
/// The next step begins at one instant on all ranks, when all optimizer ops have ended. On paced runs an op without a
/// nominal time, such as the optimizer by default, takes the host's time.
///
/// Where ranks share stages, what an op adds up with the others is part of the op (see TensorGroup), and all of them
/// run the same list.
///
/// Ranks on devices queue their ops, and transfers between them, as far ahead as what they are sent allows; nobody
/// waits for a device but at the end of a step's ops and after the optimizer, when the times of all ops are asked for.
/// On paced runs the device is kept busy for the rest of an op's nominal time, and a transfer for that of its latency.
///
/// `control.total` is set to the number of ops here, `control.done` counts them, `control.stop` is polled
/// between ops. Errors: Run, naming rank and op, when a rank fails, which ends all others; Cancelled; what
/// `after_step` returned; the transport's error where a rank has died or hangs.
[[nodiscard]] Result<EngineResult> runEngine(const EngineConfig& config, JobControl& control);

} // namespace bubblescope::runtime
