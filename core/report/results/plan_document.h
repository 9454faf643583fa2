#pragma once

#include "core/plan/calibrated.h"
#include "core/plan/search.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// The best plans for a problem, why the others lose to the first, and what frameworks are given to run that.
[[nodiscard]] Document planDocument(const plan::Problem& problem, const plan::SearchResult& found);

/// The same for a recorded run's pipeline. `peak_seconds`: what the step would take at the peak of
/// all devices; 0 = unknown, then there is no MFU. `words`: the files and options that `whatif` takes for the same
/// answer.
[[nodiscard]] Document calibratedDocument(const RunModel& run, const Schedule& order,
                                          const plan::CalibratedResult& found, double peak_seconds,
                                          const std::vector<std::string>& words);

/// One line per plan, with a header.
[[nodiscard]] std::string planCsv(const plan::Problem& problem, const plan::SearchResult& found);

} // namespace bubblescope::report
