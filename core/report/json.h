#pragma once

#include "core/report/document.h"

#include <string>

namespace bubblescope::report {

enum class JsonLayout { Indented, OneLine };

/// One JSON document, indented by two blanks or in one line, keys in their order, without a line end. Times are integer
/// nanoseconds. Bytes that are not valid UTF-8 become U+FFFD.
[[nodiscard]] std::string toJson(const Value& value, JsonLayout layout = JsonLayout::Indented);

/// What a document holds for programs.
[[nodiscard]] std::string toJson(const Section& document, JsonLayout layout = JsonLayout::Indented);

} // namespace bubblescope::report
