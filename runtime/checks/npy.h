#pragma once

#include <filesystem>
#include <span>

namespace bubblescope::runtime {

/// Writes numbers as a file that numpy.load() takes (format 1.0), in a folder that is made where it is missing. False
/// where it cannot be written.
[[nodiscard]] bool writeNpy(const std::filesystem::path& path, std::span<const float> values);

} // namespace bubblescope::runtime
