#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <filesystem>

namespace bubblescope::kineto {

/// Writes a trace in the format of PyTorch's profiler: one file "rank<R>.pt.trace.json" per rank in `folder`, which is
/// created if needed. Tools for this format take ranks from `distributedInfo`, GPUs and streams from the process and
/// the thread of a kernel, steps from annotations "ProfilerStep#N", and kernel launches from arrows "ac2g". All files
/// have the same `baseTimeNanoseconds`, so their ranks are on one clock.
///
/// The rank of a track is that of its file or, if the file has none, the one in the name of its process ("rank 3"), as
/// in Bubblescope's files. If neither contains a rank, all tracks belong to rank 0. For ranks without device records,
/// ops are also written as kernels on device 0 with launches, and transfers as NCCL kernels on other streams. This
/// applies to Bubblescope's files and to recorded jobs whose framework reports ops. Instants and counters are left out.
/// Returns the number of files. Errors: Input if a file cannot be written.
[[nodiscard]] Result<int> writeRanks(const std::filesystem::path& folder, const Trace& trace);

} // namespace bubblescope::kineto
