#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::paddle {

/// Whether a log holds lines of PaddlePaddle's job profiler ("Profiler Info: Job (0), type = forward, …"), anywhere in
/// its beginning.
[[nodiscard]] bool looksLikeJobLog(std::string_view text);

/// Reads the profiler's lines of one worker's log into the builder's current file: a slice for each job, named by its
/// type, with the arg micro_batch_id. Other lines are skipped; broken lines of the profiler (ranks may write over each
/// other) are counted. `where` names the file. Errors: Input if no line can be read; Cancelled.
[[nodiscard]] Status readJobLog(std::string_view text, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::paddle
