#pragma once

#include "core/plan/calibrated.h"
#include "core/plan/search.h"
#include "core/report/document.h"

#include <span>
#include <string>
#include <vector>

namespace bubblescope::report {

/// Memory of a plan's ranks over a step, by rank.
using MemoryCurves = std::vector<std::vector<MemoryPoint>>;

/// The best plans for a problem, the reasons why the others are slower than the best, and the framework settings to run
/// the best plan. `curves` are those of each plan, for programs, or empty.
[[nodiscard]] Document planDocument(const plan::Problem& problem, const plan::SearchResult& found,
                                    std::span<const MemoryCurves> curves = {});

/// Plans for the pipeline of a recorded run. `peak_seconds` is the step time if all devices ran at their peak rate; if
/// it is 0 (unknown), MFU is omitted. `words` are the files and options with which `whatif` predicts the same time.
[[nodiscard]] Document calibratedDocument(const RunModel& run, const Schedule& order,
                                          const plan::CalibratedResult& found, double peak_seconds,
                                          const std::vector<std::string>& words);

/// One line per plan, after a header line.
[[nodiscard]] std::string planCsv(const plan::Problem& problem, const plan::SearchResult& found);

} // namespace bubblescope::report
