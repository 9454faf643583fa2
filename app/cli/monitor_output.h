#pragma once

#include "core/live/live_analyzer.h"
#include "core/report/value.h"

#include <string>

namespace bubblescope::cli {

/// An event as one of the JSON lines that `monitor` prints if its output is not a terminal.
[[nodiscard]] report::Value eventOf(const live::LiveEvent& event, const live::LiveAnalyzer& analyzer);

/// The last of these lines: a summary of the run as far as it was observed.
[[nodiscard]] report::Value liveSummaryOf(const live::LiveAnalyzer& analyzer);

/// The summary printed at the end, a few lines long.
[[nodiscard]] std::string answerText(const live::LiveAnalyzer& analyzer);

/// The current state for people, in at most the given number of lines.
[[nodiscard]] std::string liveText(const live::LiveAnalyzer& analyzer, std::size_t lines);

} // namespace bubblescope::cli
