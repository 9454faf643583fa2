#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>

namespace bubblescope::sqlite {
class Database;
}

namespace bubblescope::rocm {

/// True if a database contains records from ROCm's profilers: rocprofv3's rocpd, or RPD.
[[nodiscard]] bool isRocpd(const sqlite::Database& database);

/// Reads kernels, copies and calls from an SQLite file of rocprofv3 (tables rocpd_kernel_dispatch_…,
/// rocpd_memory_copy_…, rocpd_region_…) or RPD (rocpd_op, rocpd_api) into the builder's current file. Missing tables
/// and columns are tolerated. Errors: Input if the database has no such events; Cancelled.
[[nodiscard]] Status readRocpd(const sqlite::Database& database, const std::string& where, TraceBuilder& builder,
                               DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::rocm
