#pragma once

#include "core/analysis/devices/device_summary.h"
#include "core/recognise/run.h"
#include "core/report/document.h"
#include "core/report/results/tables.h"

#include <string>
#include <vector>

namespace bubblescope::report {

/// Document of `analyze` for a trace without a pipeline: how the devices (or else the hosts' threads) used their time.
/// `files` has one entry per Run::inputs() and must contain some activity; `version` is that of the program.
[[nodiscard]] Document activityDocument(const LoadedTrace& trace, const std::vector<FileActivity>& files,
                                        const std::string& version);

/// Document that contains only the verdict.
[[nodiscard]] Document activitySummary(const LoadedTrace& trace, const std::vector<FileActivity>& files);

/// Tables "devices", "streams", "kernels" (or the hosts' operators) and "transfers".
[[nodiscard]] std::vector<AnalysisTable> activityTables(const std::vector<FileActivity>& files);

/// True if there is any activity to report.
[[nodiscard]] bool showsActivity(const std::vector<FileActivity>& files);

} // namespace bubblescope::report
