#pragma once

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/report.h"
#include "core/answer/statement.h"
#include "core/recognise/run.h"

#include <vector>

namespace bubblescope {

/// Summarizes a run with a pipeline. `report` must belong to `run`. Costs and gains refer to the typical step of the
/// report's selection; a gain is the time that the suggested change saves when that step is replayed with it, as
/// computed by predict(). Linear in the number of ops of that step, the only step whose ops are needed.
[[nodiscard]] Answer answerOf(const Run& run, const RunReport& report);

/// Summarizes a trace without a pipeline. `files` has one entry per Run::inputs(). Costs are sums over all devices and
/// the entire trace. Contains no statements if no file shows any activity.
[[nodiscard]] Answer answerOf(const LoadedTrace& trace, const std::vector<FileActivity>& files);

/// How problems during loading affect the result. Omits problems that only affect the display.
[[nodiscard]] std::vector<Statement> statementsOf(const std::vector<Diagnostic>& problems);

} // namespace bubblescope
