#pragma once

#include "core/analysis/devices/device_times.h"
#include "core/base/job.h"
#include "core/base/time_intervals.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The device work of a file in one training step, for traces whose profiler or framework marks steps.
struct StepActivity {
    std::int64_t index = 0; ///< number of the step, from its mark
    TimeNs start{0};
    TimeNs duration{0};
    /// Sums over all devices of the file; all 0 if it has none.
    DeviceTimes times;
};

/// The steps marked in each file ("ProfilerStep#12", "training_step_12", "iteration 12"), by start. The steps' device
/// times are still 0. Marks are host ranges, as in PyTorch's profiler, torch_npu and NVTX, or JAX's "Steps" rows. Uses
/// the marks of one thread and of the most specific kind. Linear in slices.
[[nodiscard]] std::vector<std::vector<StepActivity>> markedSteps(const Trace& trace, const JobControl& control);

} // namespace bubblescope
