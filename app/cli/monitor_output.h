#pragma once

#include "core/live/live_analyzer.h"
#include "core/report/value.h"

#include <string>

namespace bubblescope::cli {

/// Event as a line of JSON, for outputs of `monitor` that are not a terminal.
[[nodiscard]] report::Value eventOf(const live::LiveEvent& event, const live::LiveAnalyzer& analyzer);

/// The last JSON line: a summary of the run so far.
[[nodiscard]] report::Value liveSummaryOf(const live::LiveAnalyzer& analyzer);

/// Summary in a few lines, printed at the end.
[[nodiscard]] std::string answerText(const live::LiveAnalyzer& analyzer);

/// The current state as text with at most the given number of lines.
[[nodiscard]] std::string liveText(const live::LiveAnalyzer& analyzer, std::size_t lines);

} // namespace bubblescope::cli
