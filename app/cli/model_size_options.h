#pragma once

#include "app/cli/command_line.h"
#include "app/cli/schedule_options.h"
#include "core/request/model_use_request.h"
#include "core/request/plan_request.h"

namespace bubblescope::cli {

/// Adds options for a known model or its sizes. `request` outlives the parsing.
void addModelSizeOptions(Command command, ModelRequest& request, Listed listed = Listed::Always);

/// Adds the options for the model, batch and devices that MFU needs.
void addModelUseOptions(Command command, ModelUseRequest& request);

} // namespace bubblescope::cli
