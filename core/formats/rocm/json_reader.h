#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::rocm {

/// True if a file starts like rocprofv3's JSON (--output-format json).
[[nodiscard]] bool looksLikeRocprofJson(std::string_view beginning);

/// Reads kernels, copies and calls from rocprofv3's JSON into the builder's current file. Parses the complete document
/// in memory, which takes up to ten times the size of the file. Errors: Input for invalid JSON and for files without
/// such records; Cancelled.
[[nodiscard]] Status readRocprofJson(std::string_view text, const std::string& where, TraceBuilder& builder,
                                     DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::rocm
