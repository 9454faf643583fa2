#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// Parses sizes such as "80GiB", "24 GB", "1.5MiB" and "512B"; only 0 may omit the unit. KB, MB, GB and TB
/// are powers of 1000; KiB, MiB, GiB and TiB are powers of 1024. Sizes in larger units are rounded to
/// whole bytes; fractions of bytes, other units, negative sizes and sizes of 8 EiB or more are usage
/// errors.
[[nodiscard]] Result<std::int64_t> parseBytes(std::string_view text);

/// Parses a positive bandwidth into bytes per second: either a size with "/s" ("50GB/s") or bits, such as "400Gbit/s"
/// (kbit, Mbit, Gbit, Tbit; powers of 1000). Usage errors are the same as for parseBytes().
[[nodiscard]] Result<std::int64_t> parseBandwidth(std::string_view text);

/// Formats a size for display with three significant digits in a suitable unit ("1.50 GiB", "820 B").
[[nodiscard]] std::string formatBytes(std::int64_t bytes);

} // namespace bubblescope
