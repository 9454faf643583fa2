#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/mesh.h"
#include "core/report/document.h"
#include "core/schedule/schedule.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_selection.h"

#include <filesystem>
#include <string>
#include <vector>

/// Parts that are shared by several documents.
namespace bubblescope::report {

/// Paths as a list.
[[nodiscard]] Value filesOf(const std::vector<std::filesystem::path>& files);

/// Returns the path of the only file, or the folder and the number of files. There must be at least one.
[[nodiscard]] std::string filesText(const std::vector<std::filesystem::path>& files);

/// Data faults ("problems" in JSON): count, message and first location. `reader` is the audience of the table.
[[nodiscard]] Table problemsTable(const std::vector<Diagnostic>& problems, Reader reader);

/// Adds the name and sizes of a schedule: "schedule", "flavor", "pp", "microbatches", "vpp".
void addOrder(Section& object, const Schedule& order);
void addOrder(Section& object, const RunInfo& recorded);

/// For programs, adds the step time and the steps that it is based on: "step_time_ns" and "selection".
void addSelection(Section& object, const StepSelection& selection);
/// The selection of steps: {"taken": [3, 4], "set_aside": [{"step": 0, "why": "warm-up", "wall_ns": …}], …}
[[nodiscard]] Value::Object selectionOf(const StepSelection& selection);

/// {"pp": 1, "dp": 0, …}
[[nodiscard]] Value::Object placeOf(const MeshNumbers& place);

/// "pp 1, dp 0, …"
[[nodiscard]] std::string placeText(const MeshNumbers& place);

} // namespace bubblescope::report
