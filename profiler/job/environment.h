#pragma once

#include "core/base/result.h"
#include "profiler/capture/capture_options.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// The path of the library that jobs load: from BUBBLESCOPE_INJECT_LIBRARY, beside the installed program, or in the
/// build folder. Error: Input, listing the paths that were tried.
[[nodiscard]] Result<std::filesystem::path> findInjectLibrary(const ReadVariable& variable);

/// The variables that make every process of a job load the library and write into options.dir, which is made absolute.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> captureEnvironment(const std::filesystem::path& library,
                                                                                  const CaptureOptions& options);

} // namespace bubblescope::profiler
