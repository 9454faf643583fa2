#pragma once

#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The user's information about a trace.
struct RecogniseRequest {
    std::vector<std::string> rules; ///< files with additional rules for op names and lanes
    std::vector<std::string> ranks; ///< "PATTERN=RANK": ranks of files and processes, by name
    std::string mesh;               ///< "pp=4,dp=2"; empty: unknown
    std::string mesh_order;         ///< empty: torchtitan's
    ScheduleRequest schedule;       ///< the schedule that the trace should show; sizes may be left open

    /// Errors: Usage, and Input for a file of rules.
    [[nodiscard]] Result<std::optional<Mesh>> parsedMesh() const;
    [[nodiscard]] Result<std::vector<RankRule>> rankRules() const;
    [[nodiscard]] Result<LoadOptions> options() const;
    /// These options as words of another command; of a schedule, only its name or file and its sizes.
    [[nodiscard]] std::vector<std::string> words() const;
};

} // namespace bubblescope
