#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <string_view>

/// Checks for outputs that would overwrite earlier results. Existing non-empty files and folders are not overwritten
/// unless the user permits it. The command line runs these checks before it starts any work; see Command::addOutput.

namespace bubblescope {

/// File extension of Bubblescope's traces.
inline constexpr std::string_view kTraceEnding = ".pftrace";

/// Error: Usage if the file exists and is not empty. Pipes, devices and "-" are always accepted.
[[nodiscard]] Status mustBeNew(const std::filesystem::path& file);

/// Error: Usage if the folder contains files with this extension, such as ".pftrace". Ignores other files.
[[nodiscard]] Status mustHoldNone(const std::filesystem::path& folder, std::string_view ending);

/// Removes this program's files with this extension from the folder, because parts of an earlier run would be read as
/// parts of the new run. Error: Input, with the file that cannot be removed.
[[nodiscard]] Status removeAll(const std::filesystem::path& folder, std::string_view ending);

} // namespace bubblescope
