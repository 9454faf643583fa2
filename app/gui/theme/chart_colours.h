#pragma once

#include "app/gui/theme/theme.h"
#include "core/analysis/account_pieces.h"
#include "core/analysis/anomalies/anomaly.h"

namespace bubblescope::gui {

/// Of a rank's time: ops as on the timeline, causes in tones that differ in lightness as well.
[[nodiscard]] QColor pieceColour(const Theme& theme, const AccountPiece& piece);
[[nodiscard]] QColor severityColour(const Theme& theme, Severity severity);

} // namespace bubblescope::gui
