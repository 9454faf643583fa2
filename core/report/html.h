#pragma once

#include "core/report/document.h"

#include <string>

namespace bubblescope::report {

/// What a document holds for a page: one HTML file that needs nothing outside itself, no script, font or picture from
/// elsewhere. It follows the reader's light or dark theme and prints well. All texts are escaped.
[[nodiscard]] std::string toHtml(const Document& document);

} // namespace bubblescope::report
