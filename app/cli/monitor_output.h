#pragma once

#include "core/live/live_analyzer.h"
#include "core/report/value.h"

#include <string>

namespace bubblescope::cli {

/// An event as one of the documents that `monitor` prints as lines if its output is not a terminal.
[[nodiscard]] report::Value eventOf(const live::LiveEvent& event, const live::LiveAnalyzer& analyzer);

/// The last of them: the run as far as it was seen.
[[nodiscard]] report::Value liveSummaryOf(const live::LiveAnalyzer& analyzer);

/// The summary that is printed at the end: a few lines.
[[nodiscard]] std::string answerText(const live::LiveAnalyzer& analyzer);

/// The present state for people, in no more lines than given.
[[nodiscard]] std::string liveText(const live::LiveAnalyzer& analyzer, std::size_t lines);

} // namespace bubblescope::cli
