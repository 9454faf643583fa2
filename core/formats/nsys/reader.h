#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>

namespace bubblescope::sqlite {
class Database;
}

namespace bubblescope::nsys {

/// Reads an SQLite export of Nsight Systems into the builder's current file: kernels, whole CUDA graphs, copies,
/// memsets, waits for the device, calls of the CUDA runtime, the profiler's own overhead and NVTX ranges. Categories
/// have Kineto's names (kernel, gpu_memcpy, gpu_memset, cuda_sync, cuda_runtime, overhead), NVTX ranges the category
/// "nvtx". Device work and calls have the arg "correlation", which links them within a process. Tables and columns that
/// some versions of the exporter do not write are optional. A damaged table is read up to the damage. Views and virtual
/// tables in place of tables are reported and not read. Times become absolute if the file records when its session
/// began. `where` names the file. Errors: Input for a database that is not such an export or has no events; Cancelled.
[[nodiscard]] Status readNsys(const sqlite::Database& database, const std::string& where, TraceBuilder& builder,
                              DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::nsys
