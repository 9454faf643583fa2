#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/recognise_request.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

// Options that describe the trace, for commands that look for a pipeline in it. `request` must outlive the parsing.

/// --mesh and --mesh-order.
void addMeshOptions(Command command, RecogniseRequest& request);
/// The mesh options and --rules.
void addNameOptions(Command command, RecogniseRequest& request);
/// The options above, and the schedule options, whose sizes may be omitted.
void addRecogniseOptions(Command command, RecogniseRequest& request);

/// Loads a run from files and shows the progress. Problems in the files are printed before an error that they contain
/// no pipeline, because they may be its cause.
[[nodiscard]] Result<Run> loadWatched(const std::vector<std::string>& files, const LoadOptions& known_of);

} // namespace bubblescope::cli
