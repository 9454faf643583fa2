#pragma once

#include "core/base/result.h"

#include <QString>

namespace bubblescope::gui {

class TimelineView;

/// Writes what the timeline shows, at its size, as the file's name ends: .png (twice as many pixels), .svg or .pdf
/// (lines and letters that stay sharp). An existing file is replaced only when the new one is complete. Errors: Usage
/// for another ending, Run where the file cannot be written.
[[nodiscard]] Status exportView(TimelineView& view, const QString& file);

} // namespace bubblescope::gui
