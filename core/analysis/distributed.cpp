#include "core/analysis/distributed.h"

#include "core/analysis/anomalies/changes_of_ranks.h"
#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/judge_steps.h"
#include "core/recognise/load_tasks.h"

namespace bubblescope {

PartitionTasks analysisTasks() {
    PartitionTasks tasks = loadTasks();
    tasks.add(kInstantVotes, kCollectives, kNativeClocks, kHasKernels, kDeviceUse, kMemoryPeaks, kActivity, kJudgeSteps,
              kSearchChanges);
    return tasks;
}

} // namespace bubblescope
