#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <string_view>

/// The rule for outputs that meet earlier results: what holds something is not overwritten unless the user says so. The
/// command line asks before it begins to work; see Command::addOutput.

namespace bubblescope {

/// What the names of our own traces end in.
inline constexpr std::string_view kTraceEnding = ".pftrace";

/// Error: Usage, if the file exists and is not empty. Pipes, devices and "-" are written as they are.
[[nodiscard]] Status mustBeNew(const std::filesystem::path& file);

/// Error: Usage, if the folder holds files with this ending, such as ".pftrace". Others are no concern of the result's.
[[nodiscard]] Status mustHoldNone(const std::filesystem::path& folder, std::string_view ending);

/// Removes the folder's own files with this ending: parts of an earlier run would be read as parts of the new one.
/// Error: Input, naming the file that cannot be removed.
[[nodiscard]] Status removeAll(const std::filesystem::path& folder, std::string_view ending);

} // namespace bubblescope
