#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/recognise_request.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

// Options that describe the trace, for commands that search it for a pipeline. `request` outlives the parsing.

/// --mesh and --mesh-order.
void addMeshOptions(Command command, RecogniseRequest& request);
/// The mesh and --rules.
void addNameOptions(Command command, RecogniseRequest& request);
/// These, and the schedule options, whose sizes may be left open.
void addRecogniseOptions(Command command, RecogniseRequest& request);

/// Loads a run from files and shows the progress. Problems of the files are printed before the error that they contain
/// no pipeline, since they may be its cause.
[[nodiscard]] Result<Run> loadWatched(const std::vector<std::string>& files, const LoadOptions& known_of);

} // namespace bubblescope::cli
