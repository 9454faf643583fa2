#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/recognise_request.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

// What a user knows of a trace, for the commands that look for its pipeline. `request` outlives the parsing.

/// --mesh and --mesh-order.
void addMeshOptions(Command command, RecogniseRequest& request);
/// The mesh and --rules.
void addNameOptions(Command command, RecogniseRequest& request);
/// These, and the schedule options, whose sizes may be left open.
void addRecogniseOptions(Command command, RecogniseRequest& request);

/// A run from files, watched while it loads. What is wrong with the files is printed before the error that there is no
/// pipeline in them, since that may follow from it.
[[nodiscard]] Result<Run> loadWatched(const std::vector<std::string>& files, const LoadOptions& known_of);

} // namespace bubblescope::cli
