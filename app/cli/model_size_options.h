#pragma once

#include "app/cli/command_line.h"
#include "app/cli/schedule_options.h"
#include "core/request/model_use_request.h"

namespace bubblescope::cli {

/// Adds the options for a known model or for its sizes. `request` must outlive parse().
void addModelSizeOptions(Command command, ModelRequest& request, Listed listed = Listed::Always);

/// Adds the options for model, batch and devices from which MFU is computed.
void addModelUseOptions(Command command, ModelUseRequest& request);

} // namespace bubblescope::cli
