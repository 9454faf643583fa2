#pragma once

#include "core/analysis/steps/run_analyzer.h"
#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// Recordings of at least this size are treated as long, because loading a whole run takes about as much memory as its
/// files.
inline constexpr std::uint64_t kLongRecording = std::uint64_t{1} << 30;

/// Diagnoses a finished recording of Bubblescope's own runs in bounded memory, see diagnoseSteps(): its files are read
/// step by step, as a monitor reads them. Raw slices are not kept, so the findings and reports that need them are
/// missing.
///
/// `paths` are folders. Returns nothing if the run should be loaded whole: its files have fewer bytes than
/// `least_bytes`, it fits into a single window, has checks (aadiff), was recorded from another program, or contains no
/// step that can be read this way. Progress counts bytes. Errors: those of diagnoseSteps(), and Run if files cannot be
/// watched.
[[nodiscard]] Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                                  const DiagnosisOptions& options,
                                                                  const WindowLimits& limits, std::uint64_t least_bytes,
                                                                  JobControl& control);

} // namespace bubblescope::live
