#pragma once

#include "core/report/document.h"

#include <functional>
#include <string>
#include <string_view>

namespace bubblescope::report {

enum class JsonLayout { Indented, OneLine };

/// Value of "schema_version", the first key of every document: it increases if the meaning of a key changes or a key is
/// removed, but not if a key is added. The manual lists all keys (report.md).
inline constexpr int kSchemaVersion = 1;

/// Formats a JSON document on one line or indented by two spaces, with keys in insertion order and without a trailing
/// newline. Times are integer nanoseconds. Bytes that are not valid UTF-8 become U+FFFD.
[[nodiscard]] std::string toJson(const Value& value, JsonLayout layout = JsonLayout::Indented);

/// Formats the part of a document that is intended for programs.
[[nodiscard]] std::string toJson(const Section& document, JsonLayout layout = JsonLayout::Indented);

/// Receives the next part of a document; only the last part may end in the middle of a line.
using JsonSink = std::function<void(std::string_view)>;

/// As above, but indented and in parts of about 64 KiB.
void writeJson(const Section& document, const JsonSink& sink);

} // namespace bubblescope::report
