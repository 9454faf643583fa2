#include "core/analysis/whatif/reschedule.h"
#include "core/graph/simulate_lowered.h"
#include "core/lowering/torch_lowering.h"

namespace bubblescope {

Result<QueueEffect> queueEffect(const RunModel& run, const Schedule& order, const Schedule& schedule,
                                const PipelineChange& change, const ModelCut& cut) {
    BUBBLESCOPE_ASSIGN(const MeanPipeline mean, MeanPipeline::of(run, order, cut));
    const CostModel costs = mean.costsWithGaps(schedule, change);
    const auto step = [&](const QueueChange& queues) -> Result<TimeNs> {
        TorchLowering options;
        options.defer_pp_recv = queues.deferred_receives;
        BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowerAsTorch(schedule, options));
        BUBBLESCOPE_ASSIGN(const LoweredStep simulated,
                           simulateLowered(lowered, costs, {{queues.communicators, {}}, 0, false}));
        return simulated.step.wall();
    };
    QueueEffect effect;
    BUBBLESCOPE_ASSIGN(effect.before, step({}));
    BUBBLESCOPE_ASSIGN(effect.after, step(change.queues));
    return effect;
}

} // namespace bubblescope
