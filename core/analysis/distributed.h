#pragma once

#include "core/recognise/partitioned_trace.h"

namespace bubblescope {

/// All that a process that holds a partition of a trace is asked while a run is loaded and diagnosed.
[[nodiscard]] PartitionTasks analysisTasks();

} // namespace bubblescope
