#pragma once

#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// Information from the user that helps to recognise a trace.
struct RecogniseRequest {
    std::vector<std::string> rules; ///< paths of files with additional rules for op names and lanes
    std::vector<std::string> ranks; ///< "PATTERN=RANK": assigns ranks to files and processes by name
    std::string mesh;               ///< such as "pp=4,dp=2"; empty = unknown
    std::string mesh_order;         ///< empty = that of torchtitan
    ScheduleRequest schedule;       ///< the expected schedule of the trace; sizes may be left open

    /// Errors: Usage, and Input for a rules file.
    [[nodiscard]] Result<std::optional<Mesh>> parsedMesh() const;
    [[nodiscard]] Result<std::vector<RankRule>> rankRules() const;
    [[nodiscard]] Result<LoadOptions> options() const;
    /// These options as arguments for another command; for a schedule, only its name or file and its sizes.
    [[nodiscard]] std::vector<std::string> words() const;
};

} // namespace bubblescope
