#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::kineto {

/// Writes a trace as PyTorch's profiler would have written it: a file "rank<R>.pt.trace.json" for each rank in
/// `folder`, which is made if it does not exist. Tools for such traces take ranks from `distributedInfo`, GPUs and
/// streams from the process and the thread of a kernel, steps from annotations "ProfilerStep#N", and what started a
/// kernel from arrows "ac2g". All files share `baseTimeNanoseconds`, so their ranks are on one clock.
///
/// The rank of a track is that of its file, else that in the name of its process ("rank 3"), as our own files have it;
/// without either all is rank 0. On a rank for which no device recorded anything, the ops of our own files, and those
/// that a recorded job's framework states, are written as kernels of device 0 too, each with its launch, and transfers
/// as kernels of NCCL on other streams. Instants and counters are left out. Returns the number of files. Errors: Input
/// if a file cannot be written.
[[nodiscard]] Result<int> writeRanks(const std::filesystem::path& folder, const Trace& trace);

} // namespace bubblescope::kineto
