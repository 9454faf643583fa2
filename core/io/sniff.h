#pragma once

#include <string_view>

namespace bubblescope {

enum class FileFormat { Empty, Packed, Json, Perfetto, Sqlite, Unknown };

/// Tells a file's format from its first bytes; 256 of them are enough. Names of files are not looked at:
/// traces travel under all sorts of them.
[[nodiscard]] FileFormat sniffFormat(std::string_view beginning);

} // namespace bubblescope
