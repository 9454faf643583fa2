#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/formats/perfetto/writer.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// The file name endings of the formats below, with and without compression.
[[nodiscard]] std::vector<std::string> traceEndings();
/// "chrome", "perfetto", "csv" or "svg" according to the name's ending, ignoring one for compression; none for other
/// endings.
[[nodiscard]] std::optional<std::string> traceFormatOf(const std::filesystem::path& file);

/// Writes a whole trace as "chrome", "perfetto" or "csv". `problems` found while reading it are included if the format
/// has a place for them. Data that cannot be written is reported in `log`.
[[nodiscard]] Status writeTraceAs(const std::string& format, const std::filesystem::path& file, const Trace& trace,
                                  DiagnosticLog& log, std::span<const Diagnostic> problems = {});

/// Writes a synthetic step in the format of the file's name, or in Perfetto's format if the ending is unknown. CSV and
/// SVG have no counters.
[[nodiscard]] Status writeStep(const std::filesystem::path& file, const RunInfo& info, const StepTimeline& step,
                               std::span<const perfetto::RankCounter> counters = {});

} // namespace bubblescope::cli
