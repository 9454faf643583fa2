#pragma once

#include "core/answer/answer.h"
#include "core/live/live_analyzer.h"

namespace bubblescope::live {

/// The answer for the latest steps of a followed run, including what its ranks lost and which of them ended without
/// finishing. Without statements before the first complete step, unless a rank is gone.
[[nodiscard]] Answer answerOf(const LiveAnalyzer& analyzer);

} // namespace bubblescope::live
