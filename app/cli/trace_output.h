#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// What names of the formats below end in, packed or not.
[[nodiscard]] std::vector<std::string> traceEndings();
/// "chrome", "perfetto", "csv" or "svg" by the name's ending, before the one that asks for packing; none for others.
[[nodiscard]] std::optional<std::string> traceFormatOf(const std::filesystem::path& file);

/// Writes all of a trace as "chrome", "perfetto" or "csv", and `problems`, those of reading it, where the format has
/// room for them. Data that cannot be written is reported in `log`.
[[nodiscard]] Status writeTraceAs(const std::string& format, const std::filesystem::path& file, const Trace& trace,
                                  DiagnosticLog& log, std::span<const Diagnostic> problems = {});

/// Writes a made-up step in the format of the file's name, as Perfetto's where that is unknown.
[[nodiscard]] Status writeStep(const std::filesystem::path& file, const RunInfo& info, const StepTimeline& step);

} // namespace bubblescope::cli
