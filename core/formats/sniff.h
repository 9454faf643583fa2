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

/// Detects the format of a file from its beginning. 256 bytes are enough, except for logs, whose relevant lines may be
/// anywhere in the first megabyte. Ignores file names, because they are not reliable for traces.
[[nodiscard]] FileFormat sniffFormat(std::string_view beginning);

/// Advice on converting an XPlane file.
inline constexpr std::string_view kXPlaneAdvice =
    "open the trace.json.gz that the profiler wrote next to it, or create one with TensorBoard's profile plugin";

/// Advice on a file that no reader accepts. For known formats, explains how to convert the file to a readable one.
/// Detects formats by the beginning of the file, and proprietary formats by its name.
[[nodiscard]] std::string_view conversionAdvice(std::string_view name, std::string_view beginning);

} // namespace bubblescope
