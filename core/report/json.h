#pragma once

#include "core/report/document.h"

#include <functional>
#include <string>
#include <string_view>

namespace bubblescope::report {

enum class JsonLayout { Indented, OneLine };

/// "schema_version", the first key of every document: it increases when a key changes its meaning or is removed, not
/// when one is added. The manual lists all keys (report.md).
inline constexpr int kSchemaVersion = 1;

/// A JSON document, indented by two blanks or in one line, with keys in insertion order and without a line end. Times
/// are integer nanoseconds. Bytes that are not valid UTF-8 become U+FFFD.
[[nodiscard]] std::string toJson(const Value& value, JsonLayout layout = JsonLayout::Indented);

/// The part of a document that is for programs.
[[nodiscard]] std::string toJson(const Section& document, JsonLayout layout = JsonLayout::Indented);

/// Takes the next part of a document; only the last may end within a line.
using JsonSink = std::function<void(std::string_view)>;

/// As above, indented, in parts of about 64 KiB.
void writeJson(const Section& document, const JsonSink& sink);

} // namespace bubblescope::report
