#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <string>
#include <string_view>

namespace bubblescope::torchtitan {

/// True if the text is torchtitan's structured log: one JSON object per line, with rank, log_type_name and time_us.
[[nodiscard]] bool looksLikeEventLog(std::string_view text);

/// Reads such a log into the builder's current file. NAME_start and NAME_end delimit a slice NAME; everything else is
/// an instant. Rank, step and other fields are args. Each source has one row. Malformed lines are counted. Errors:
/// Input if no line is an event; Cancelled.
[[nodiscard]] Status readEventLog(std::string_view text, const std::string& where, TraceBuilder& builder,
                                  DiagnosticLog& log, LoadProgress& progress);

} // namespace bubblescope::torchtitan
