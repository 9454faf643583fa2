#pragma once

#include "core/optimize/advice/advise.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// Suggestions that would shorten a run's step. `run_words` are the files and options of the run, for the commands that
/// show each suggestion. `orders_written` is true if the files named by suggestions of searched orders have been
/// written.
[[nodiscard]] Document adviceDocument(const RunModel& model, const Advice& advice,
                                      const std::vector<std::string>& run_words, bool orders_written = false);

} // namespace bubblescope::report
