#pragma once

#include "app/cli/command_line.h"
#include "core/request/recognise_request.h"

namespace bubblescope::cli {

// What a user knows of a trace, for the commands that look for its pipeline. `request` outlives the parsing.

/// --mesh and --mesh-order.
void addMeshOptions(Command command, RecogniseRequest& request);
/// The mesh and --rules.
void addNameOptions(Command command, RecogniseRequest& request);
/// These, and the schedule options, whose sizes may be left open.
void addRecogniseOptions(Command command, RecogniseRequest& request);

} // namespace bubblescope::cli
