#pragma once

#include "app/gui/models/session.h"

#include <QString>

namespace bubblescope::gui {

/// Writes the report of a trace as one page, as `analyze` does. Errors: Run if the file cannot be written, and for a
/// trace without a pipeline those of activityOf().
[[nodiscard]] Status writeReport(const Session& session, const QString& file);

} // namespace bubblescope::gui
