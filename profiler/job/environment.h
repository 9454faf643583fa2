#pragma once

#include "core/base/result.h"
#include "profiler/capture/capture_options.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// The library that jobs load: at the path in BUBBLESCOPE_INJECT_LIBRARY, beside the program as it was installed, or in
/// its build folder. Error: Input, with the places that were looked at.
[[nodiscard]] Result<std::filesystem::path> findInjectLibrary(const ReadVariable& variable);

/// The variables that make every process of a job load the library and write into options.dir, which becomes absolute.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> captureEnvironment(const std::filesystem::path& library,
                                                                                  const CaptureOptions& options);

} // namespace bubblescope::profiler
