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

/// Recordings of so many bytes are long: a whole run takes about as much memory.
inline constexpr std::uint64_t kLongRecording = std::uint64_t{1} << 30;

/// Diagnoses a finished recording of Bubblescope's own runs in bounded memory, see diagnoseSteps(): its files are read
/// step by step, as a monitor reads them. The raw slices are not kept, so that findings and reports that need them lack
/// them.
///
/// `paths` are folders. Nothing is returned where the run is better loaded whole: its files have fewer bytes than
/// `least_bytes`, it is one window, was checked (aadiff), was recorded of another program, or holds no step that can be
/// read so. Progress counts bytes. Errors: those of diagnoseSteps(), and Run where files cannot be watched.
[[nodiscard]] Result<std::optional<DiagnosedRun>> diagnoseLongRun(const std::vector<std::filesystem::path>& paths,
                                                                  const DiagnosisOptions& options,
                                                                  const WindowLimits& limits, std::uint64_t least_bytes,
                                                                  JobControl& control);

} // namespace bubblescope::live
