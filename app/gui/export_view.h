#pragma once

#include "core/base/result.h"

#include <QString>

namespace bubblescope::gui {

class TimelineView;

/// Writes the visible part of the timeline, in the format of the file's extension: .png (at twice the resolution), .svg
/// or .pdf (vector graphics). An existing file is replaced only once the new one is complete. Errors: Usage for other
/// extensions, Run if the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file);

} // namespace bubblescope::gui
