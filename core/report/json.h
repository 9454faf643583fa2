#pragma once

#include "core/report/document.h"

#include <functional>
#include <string>
#include <string_view>

namespace bubblescope::report {

enum class JsonLayout { Indented, OneLine };

/// One JSON document, indented by two blanks or in one line, keys in their order, without a line end. Times are integer
/// nanoseconds. Bytes that are not valid UTF-8 become U+FFFD.
[[nodiscard]] std::string toJson(const Value& value, JsonLayout layout = JsonLayout::Indented);

/// What a document holds for programs.
[[nodiscard]] std::string toJson(const Section& document, JsonLayout layout = JsonLayout::Indented);

/// Takes the next part of a document; only the last may end within a line.
using JsonSink = std::function<void(std::string_view)>;

/// The same, indented, in parts of some 64 KiB.
void writeJson(const Section& document, const JsonSink& sink);

} // namespace bubblescope::report
