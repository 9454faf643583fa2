#pragma once

#include <string_view>

namespace bubblescope {

enum class FileFormat { Empty, Packed, Json, Perfetto, Sqlite, PaddleLog, TorchtitanLog, ScheduleCsv, Unknown };

/// Tells a file's format from its beginning. 256 bytes are enough but for logs, where the lines that matter may come
/// later: within the first megabyte. Names of files are not looked at:
/// traces travel under all sorts of them.
[[nodiscard]] FileFormat sniffFormat(std::string_view beginning);

} // namespace bubblescope
