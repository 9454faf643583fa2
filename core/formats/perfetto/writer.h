#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"
#include "core/trace/trace.h"

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// A counter of a rank, such as its memory in bytes. Each value holds until the time of the next one.
struct RankCounter {
    Rank rank;
    std::string name;
    std::vector<std::pair<TimeNs, double>> values;
};

/// Writes steps as one Perfetto trace file, including checks on ranks of the first replica, as specified in
/// timeline/trace_names.h. Checks on one rank must be in time order and must not overlap. An existing file is
/// replaced only when the new one is complete.
[[nodiscard]] Status writeTimeline(const std::filesystem::path& file, const RunInfo& info,
                                   std::span<const StepTimeline> steps, std::span<const CheckRecord> checks = {},
                                   std::span<const RankCounter> counters = {});

/// Writes a complete trace as a Perfetto file: slices with their args and arrows, instants and counters, on tracks
/// below their processes. An arrow keeps the slices that it connects, but not its positions within them; ends that
/// touch no slice are counted in `log`. A custom packet (see source_files.h) records the trace's files and the
/// `problems` found when reading them. `extracts` has one encoded FileExtract per file; these come first, and all later
/// packets are compressed in a form that viewers read. Errors: Input if the file cannot be written.
[[nodiscard]] Status writeTrace(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log,
                                std::span<const Diagnostic> problems = {}, std::span<const std::string> extracts = {});

} // namespace bubblescope::perfetto
