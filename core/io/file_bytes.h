#pragma once

#include "core/base/job.h"
#include "core/base/result.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope {

/// Room behind a content that simdjson may read beyond its end.
inline constexpr std::size_t kReadPadding = 64;

/// The whole file; the string's capacity exceeds its size by at least kReadPadding. Errors: Input with the
/// system's reason, Cancelled.
[[nodiscard]] Result<std::string> readFileBytes(const std::filesystem::path& file, JobControl& control);

/// Unpacks all members of a gzip file; capacity as above. What is unpacked is bounded, so that a file made
/// to fill the memory ends in an error. Errors: Input, naming the byte offset of the damaged member.
[[nodiscard]] Result<std::string> unpackGzip(std::string_view packed, const std::string& where);

} // namespace bubblescope
