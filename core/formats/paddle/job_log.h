#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::paddle {

/// True if the beginning of a log contains lines of PaddlePaddle's job profiler ("Profiler Info: Job (0), type =
/// forward, …").
[[nodiscard]] bool looksLikeJobLog(std::string_view text);

/// Reads the profiler's lines in one worker's log into the builder's current file: one slice per job, with the type as
/// name and the arg micro_batch_id. Skips other lines. Counts malformed profiler lines (ranks may overwrite each
/// other's output). `where` is the name of the file. Errors: Input if no line can be read; Cancelled.
[[nodiscard]] Status readJobLog(std::string_view text, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::paddle
