#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/recognise_request.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

// Options for finding the pipeline in a trace. `request` must outlive parse().

/// Adds --mesh and --mesh-order.
void addMeshOptions(Command command, RecogniseRequest& request);
/// Adds --rules and the mesh options.
void addNameOptions(Command command, RecogniseRequest& request);
/// Adds the options above and the schedule options; the sizes may be omitted.
void addRecogniseOptions(Command command, RecogniseRequest& request);

/// Loads a run from files and shows progress. If the files contain no pipeline, first prints the problems found in
/// them, which may have caused the error.
[[nodiscard]] Result<Run> loadWatched(const std::vector<std::string>& files, const LoadOptions& known_of);

} // namespace bubblescope::cli
