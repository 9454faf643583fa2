#pragma once

#include "core/answer/answer.h"
#include "core/live/live_analyzer.h"

namespace bubblescope::live {

/// Summarizes the latest steps of a followed run, including lost records and ranks that ended without finishing.
/// Contains no statements before the first complete step, unless a rank is lost.
[[nodiscard]] Answer answerOf(const LiveAnalyzer& analyzer);

} // namespace bubblescope::live
