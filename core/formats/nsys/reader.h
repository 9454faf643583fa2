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

/// Reads an SQLite export of Nsight Systems into the builder's current file: kernels, whole CUDA graphs, copies, sets,
/// waits for the device, calls of the CUDA runtime, the profiler's own overhead and NVTX ranges. Categories have
/// Kineto's names (kernel, gpu_memcpy, gpu_memset, cuda_sync, cuda_runtime, overhead), NVTX ranges the category "nvtx".
/// Device work and calls have the arg "correlation", which relates them within a process. Tables and columns that a
/// version of the exporter does not write are optional; a damaged table is read up to the damage; views and virtual
/// tables in place of tables are not read, and reported. Times are made
/// absolute if the file states when its session began. `where` names the file. Errors: Input for a database that is not
/// such an export or holds no event; Cancelled.
[[nodiscard]] Status readNsys(const sqlite::Database& database, const std::string& where, TraceBuilder& builder,
                              DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::nsys
