#pragma once

#include "core/report/document.h"
#include "core/report/zoom_timeline.h"

#include <string>

namespace bubblescope::report {

/// Renders a document as a self-contained HTML file without external scripts, fonts or images; its content security
/// policy prevents browsers from loading any. `zoom`, if not empty, is placed before the first drawing. The page
/// follows the reader's light or dark theme and is printable. All text is escaped.
[[nodiscard]] std::string toHtml(const Document& document, const ZoomTimeline* zoom = nullptr);

} // namespace bubblescope::report
