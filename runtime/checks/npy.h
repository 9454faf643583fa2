#pragma once

#include <filesystem>
#include <span>

namespace bubblescope::runtime {

/// Writes numbers as a file for numpy.load() (format 1.0), in a folder that is created if it is missing. Returns false
/// if the file cannot be written.
[[nodiscard]] bool writeNpy(const std::filesystem::path& path, std::span<const float> values);

} // namespace bubblescope::runtime
