#pragma once

#include "core/graph/validate_lowered.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// Document about the validation of a schedule: the number of problems, and up to a thousand of them.
[[nodiscard]] Document validationDocument(const LoweredSchedule& schedule, const LoweredValidation& found);

/// Adds the verdict on hangs: whether the order can hang, and with which communicators. `found` must have a verdict.
void addVerdicts(Document& document, const LoweredValidation& found, const QueueModel& queues,
                 const std::vector<CommunicatorVerdict>& all);

/// The cycle of a hang, drawn as an SVG document.
[[nodiscard]] std::string cycleDrawing(const HangVerdict& hang);

/// A line such as "safe communicators: edge, tag; unsafe: one, direction, pair".
[[nodiscard]] std::string safeCommunicatorsLine(const std::vector<CommunicatorVerdict>& all);

} // namespace bubblescope::report
