#pragma once

#include <string_view>

namespace bubblescope {

enum class FileFormat {
    Empty,
    Packed,
    Json,
    Perfetto,
    Sqlite,
    PaddleLog,
    TorchtitanLog,
    ScheduleCsv,
    PrimusRecord,
    TorchSnapshot,
    RocprofJson,
    XPlane,
    Unknown
};

/// Detects a file's format from its beginning. 256 bytes are enough, except for logs, whose relevant lines may come
/// later, within the first megabyte. Ignores file names, because traces come under all sorts of names.
[[nodiscard]] FileFormat sniffFormat(std::string_view beginning);

/// Advice about an XPlane file.
inline constexpr std::string_view kXPlaneAdvice =
    "open the trace.json.gz that the profiler wrote next to it, or create one with TensorBoard's profile plugin";

/// Advice for a file that no reader accepts: for known formats, how to convert it to a readable one. Classifies by the
/// file's beginning, and for proprietary formats by its name.
[[nodiscard]] std::string_view conversionAdvice(std::string_view name, std::string_view beginning);

} // namespace bubblescope
