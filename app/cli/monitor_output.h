#pragma once

#include "core/live/live_analyzer.h"
#include "core/report/value.h"

#include <string>

namespace bubblescope::cli {

/// What happened, as one of the documents that `monitor` prints as lines where nobody sees a terminal.
[[nodiscard]] report::Value eventOf(const live::LiveEvent& event, const live::LiveAnalyzer& analyzer);

/// The last of them: the run as far as it was seen.
[[nodiscard]] report::Value liveSummaryOf(const live::LiveAnalyzer& analyzer);

/// The answer for what was seen, for the end: a few lines.
[[nodiscard]] std::string answerText(const live::LiveAnalyzer& analyzer);

/// The present state for people, in no more lines than given.
[[nodiscard]] std::string liveText(const live::LiveAnalyzer& analyzer, std::size_t lines);

} // namespace bubblescope::cli
