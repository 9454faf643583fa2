#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/cost/memory_model.h"
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

/// File name endings of all formats below, with and without compression.
[[nodiscard]] std::vector<std::string> traceEndings();
/// "chrome", "perfetto", "csv" or "svg", determined by the file name's ending (ignoring an ending for compression).
/// None for other endings.
[[nodiscard]] std::optional<std::string> traceFormatOf(const std::filesystem::path& file);

/// Writes a complete trace as "chrome", "perfetto" or "csv". Includes `problems`, which were found while reading the
/// trace, if the format allows it. Data that the format cannot represent is reported in `log`.
[[nodiscard]] Status writeTraceAs(const std::string& format, const std::filesystem::path& file, const Trace& trace,
                                  DiagnosticLog& log, std::span<const Diagnostic> problems = {});

/// A rank's memory over a step as a counter.
[[nodiscard]] perfetto::RankCounter memoryCounter(Rank rank, std::span<const MemoryPoint> curve);

/// Writes a synthetic step in the format for the file's ending, or in Perfetto's format if the ending is unknown. CSV
/// and SVG omit counters.
[[nodiscard]] Status writeStep(const std::filesystem::path& file, const RunInfo& info, const StepTimeline& step,
                               std::span<const perfetto::RankCounter> counters = {});

} // namespace bubblescope::cli
