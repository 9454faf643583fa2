#pragma once

#include "runtime/launch/session.h"

#include <memory>

namespace bubblescope {

/// MPI from MPI_Init_thread to MPI_Finalize. Error: Run, if MPI does not start or is not built in.
[[nodiscard]] Result<std::unique_ptr<LaunchSession>> startMpi();

} // namespace bubblescope
