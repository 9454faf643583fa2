#pragma once

#include "app/cli/command_line.h"
#include "app/cli/schedule_options.h"
#include "core/request/model_use_request.h"
#include "core/request/plan_request.h"

namespace bubblescope::cli {

/// A known model, or its sizes. `request` outlives the parsing.
void addModelSizeOptions(Command command, ModelRequest& request, Listed listed = Listed::Always);

/// The model, batch and devices that MFU takes.
void addModelUseOptions(Command command, ModelUseRequest& request);

} // namespace bubblescope::cli
