#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/timeline/check_log.h"
#include "core/timeline/run_info.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope {

/// What a run recorded of checks and digests, whether or not its files hold ops.
struct RecordedChecks {
    std::vector<std::filesystem::path> files;
    CheckLog log;
    std::optional<RunInfo> info; ///< what the files say of the run
    std::vector<Diagnostic> problems;
};

/// Reads files, or all trace files below directories. Errors: as loadRun(), and Input where there is neither a check
/// nor a digest.
[[nodiscard]] Result<RecordedChecks> loadChecks(const std::vector<std::filesystem::path>& paths, JobControl& control);

} // namespace bubblescope
