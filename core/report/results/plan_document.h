#pragma once

#include "core/plan/calibrated.h"
#include "core/plan/search.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// The best plans for a problem, the reasons why the others are slower than the first, and the framework settings that
/// run the first.
[[nodiscard]] Document planDocument(const plan::Problem& problem, const plan::SearchResult& found);

/// The plans for a recorded run's pipeline. `peak_seconds` is the step time at the peak of all devices; if it is 0
/// (unknown), MFU is omitted. `words` are the files and options with which `whatif` gives the same answer.
[[nodiscard]] Document calibratedDocument(const RunModel& run, const Schedule& order,
                                          const plan::CalibratedResult& found, double peak_seconds,
                                          const std::vector<std::string>& words);

/// One line per plan, with a header.
[[nodiscard]] std::string planCsv(const plan::Problem& problem, const plan::SearchResult& found);

} // namespace bubblescope::report
