#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// Parses "80GiB", "24 GB", "1.5MiB", "512B" or a bare number of bytes. KB, MB, GB and TB are powers of 1000,
/// KiB, MiB, GiB and TiB powers of 1024. Fractions of a byte, other units, negative sizes and those from 8 EiB
/// are usage errors.
[[nodiscard]] Result<std::int64_t> parseBytes(std::string_view text);

/// Parses a bandwidth above 0 to bytes a second: a size with "/s" ("50GB/s"), or bits as "400Gbit/s"
/// (kbit, Mbit, Gbit, Tbit; powers of 1000). Usage errors as parseBytes().
[[nodiscard]] Result<std::int64_t> parseBandwidth(std::string_view text);

/// For people: three significant decimals in the unit that fits ("1.500 GiB", "820 B").
[[nodiscard]] std::string formatBytes(std::int64_t bytes);

} // namespace bubblescope
