#pragma once

#include "core/analysis/steps/run_analyzer.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// Minimum size in bytes of a recording that is treated as long. Loading a complete run requires about as much memory
/// as the total size of its files.
inline constexpr std::uint64_t kLongRecording = std::uint64_t{1} << 30;

/// Diagnoses a finished recording of one of Bubblescope's own runs in bounded memory, see diagnoseSteps(): reads its
/// files step by step, as a monitor does. Findings and reports that need raw slices are missing, because slices are
/// discarded.
///
/// `paths` must be folders. Empty if the run should be loaded completely: its files have fewer than `least_bytes`
/// bytes, it fits into a single window, has checks (aadiff), was recorded from another program, or contains no step
/// that can be read this way. Progress is counted in bytes. Errors: those of diagnoseSteps(), and Run if files cannot
/// be watched.
[[nodiscard]] Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                                  const DiagnosisOptions& options,
                                                                  const WindowLimits& limits, std::uint64_t least_bytes,
                                                                  JobControl& control);

} // namespace bubblescope::live
