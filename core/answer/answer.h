#pragma once

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/report.h"
#include "core/answer/statement.h"
#include "core/recognise/run.h"

#include <vector>

namespace bubblescope {

/// The answer for a run with a pipeline. `report` belongs to `run`. All costs and gains are of the typical step of the
/// steps that the report's selection takes; a gain is what the step's replay wins with the change that the statement
/// names, as predict() has it. Linear in the ops of that step; no step but that one needs its ops.
[[nodiscard]] Answer answerOf(const Run& run, const RunReport& report);

/// The answer for a trace without a pipeline: `files` has one entry for each of Run::inputs(). Costs are those of all
/// devices together, in the whole trace. Where no file shows any activity there may be no statement.
[[nodiscard]] Answer answerOf(const LoadedTrace& trace, const std::vector<FileActivity>& files);

/// What problems of loading a trace mean for whoever reads its result; those that only concern how it is shown are left
/// out.
[[nodiscard]] std::vector<Statement> statementsOf(const std::vector<Diagnostic>& problems);

} // namespace bubblescope
