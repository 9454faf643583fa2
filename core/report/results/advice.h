#pragma once

#include "core/optimize/advice/advise.h"
#include "core/report/document.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// Document with suggestions that would shorten a run's step. `run_words` are the files and options of the run, for the
/// commands that demonstrate each suggestion. `orders_written` is true if the order files that the suggestions name
/// have been written.
[[nodiscard]] Document adviceDocument(const RunModel& model, const Advice& advice,
                                      const std::vector<std::string>& run_words, bool orders_written = false);

} // namespace bubblescope::report
