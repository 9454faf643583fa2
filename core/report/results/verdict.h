#pragma once

#include "core/analysis/report.h"
#include "core/report/document.h"

namespace bubblescope::report {

/// The summary for a reader in a hurry: one sentence each, the same in text, pages, JSON and the app.
struct Verdict {
    Sentence verdict; ///< how long a step takes, and how much of it is idle
    Sentence cost;    ///< what costs most of it
    Sentence action;  ///< what to do about that
};

/// For the steps that the report's selection takes.
[[nodiscard]] Verdict verdictOf(const Run& run, const RunReport& report);

/// "summary": an object of the three for programs, three lines for people.
[[nodiscard]] Section verdictSection(const Verdict& verdict);

} // namespace bubblescope::report
