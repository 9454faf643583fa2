#pragma once

#include "core/base/temporary_folder.h"

namespace bubblescope::live {

/// A temporary folder for streams that arrive or wait to be sent. Errors: Run.
[[nodiscard]] inline Result<TemporaryFolder> makeScratchFolder() {
    return TemporaryFolder::make(
        "bubblescope-steps",
        runError("no folder can be made for what arrives or waits to be sent", "set TMPDIR to a folder with room"));
}

} // namespace bubblescope::live
