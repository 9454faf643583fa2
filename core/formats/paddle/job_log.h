#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::paddle {

/// A log that holds lines of PaddlePaddle's job profiler ("Profiler Info: Job (0), type = forward, …"), wherever in
/// its beginning they come first.
[[nodiscard]] bool looksLikeJobLog(std::string_view text);

/// Reads the profiler's lines of one worker's log into the builder's current file: a slice for each job, named by its
/// type, with the arg micro_batch_id. Other lines are passed over; lines of the profiler that are broken (ranks may
/// write over each other) are counted. `where` names the file. Errors: Input if no line can be read, Cancelled.
[[nodiscard]] Status readJobLog(std::string_view text, const std::string& where, TraceBuilder& builder,
                                DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::paddle
