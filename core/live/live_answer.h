#pragma once

#include "core/answer/answer.h"
#include "core/live/live_analyzer.h"

namespace bubblescope::live {

/// The answer for the latest steps of a followed run, including lost records and ranks that ended without finishing.
/// Has no statements before the first complete step, unless a rank is lost.
[[nodiscard]] Answer answerOf(const LiveAnalyzer& analyzer);

} // namespace bubblescope::live
