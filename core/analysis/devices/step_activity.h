#pragma once

#include "core/analysis/devices/device_times.h"
#include "core/base/job.h"
#include "core/base/time_intervals.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The work of a file's devices in a training step, for traces whose profiler or framework marks steps.
struct StepActivity {
    std::int64_t index = 0; ///< number of the step, from its mark
    TimeNs start{0};
    TimeNs duration{0};
    /// Over all devices of the file; all 0 without devices.
    DeviceTimes times;
};

/// The steps that each file marks ("ProfilerStep#12", "training_step_12", "iteration 12"), by start, with device times
/// still 0. Marks are host ranges, as in PyTorch's profiler, torch_npu and NVTX, or the rows "Steps" of JAX; those of
/// one thread and of the most specific kind are used. Linear in slices.
[[nodiscard]] std::vector<std::vector<StepActivity>> markedSteps(const Trace& trace, const JobControl& control);

} // namespace bubblescope
