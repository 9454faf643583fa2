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

/// Reads an SQLite export from Nsight Systems into the builder's current file: kernels, complete CUDA graphs, copies,
/// memsets, waits for the device, CUDA runtime calls, the profiler's overhead and NVTX ranges. Allocations of device
/// memory become a counter per process and device, see base/reserved_memory.h. Categories have Kineto's
/// names (kernel, gpu_memcpy, gpu_memset, cuda_sync, cuda_runtime, overhead); NVTX ranges have the category "nvtx".
/// Device work and calls have the arg "correlation", which links them within a process. Tables and columns that some
/// versions of the exporter do not write are optional. A corrupt table is read up to the first error. Views and virtual
/// tables that replace tables are reported but not read. Times are absolute if the file records the session start.
/// `where` is the name of the file. Errors: Input for other databases and for databases without events; Cancelled.
[[nodiscard]] Status readNsys(const sqlite::Database& database, const std::string& where, TraceBuilder& builder,
                              DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::nsys
