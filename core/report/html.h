#pragma once

#include "core/report/document.h"
#include "core/report/zoom_timeline.h"

#include <string>

namespace bubblescope::report {

/// What a document holds for a page: one HTML file that needs nothing outside itself, no script, font or picture from
/// elsewhere; a policy in it forbids browsers to load any. `zoom`, if given, stands before the first drawing. It
/// follows the reader's light or dark theme and prints well. All texts are escaped.
[[nodiscard]] std::string toHtml(const Document& document, const ZoomTimeline* zoom = nullptr);

} // namespace bubblescope::report
