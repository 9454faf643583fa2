#pragma once

#include "app/cli/model_options.h"
#include "app/cli/recorded_run.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// `run --compare`: one model, trained by several schedules one after the other.
struct Comparison {
    const ScheduleRequest& schedule; ///< which is the first, if it names one
    std::vector<std::string> names;  ///< the other schedules: NAME, NAME/FLAVOR or /FLAVOR
    /// Its layers in each chunk are the first schedule's; none = as few as all schedules can cut evenly.
    const ModelOptions& model;
};

/// The runs to make: `base` with each schedule and with the times of its ops. All train the same model on the
/// same data, so that a schedule with more chunks a rank has smaller ones: its op times shrink by as much.
/// `times` are those of one op of the first schedule. Each schedule takes --vpp, or if it cannot, the
/// smallest number of chunks that it can. Usage error where the blocks of a rank cannot be cut evenly.
[[nodiscard]] Result<std::vector<runtime::RunConfig>>
planComparison(const Comparison& comparison, const CostModel& times, const runtime::RunConfig& base);

/// Where each run is recorded: in a folder of its name below `out` if that is not empty; of equal names the second gets
/// a
/// "-2".
[[nodiscard]] std::vector<std::string> foldersOf(const std::vector<runtime::RunConfig>& configs,
                                                 const std::string& out);

/// Makes the runs, each recorded in its folder. `team` as for recordRun().
[[nodiscard]] Result<std::vector<RecordedRun>> recordAll(const std::vector<runtime::RunConfig>& configs,
                                                         const std::vector<std::string>& folders, ProcessTeam* team);

/// A table and what became of the weights; for programs (`json`) all of each run.
[[nodiscard]] report::Document comparisonDocument(const std::vector<RecordedRun>& runs, bool json);

/// Draws each run's typical step; does nothing without --svg.
[[nodiscard]] Status drawRuns(const SvgOptions& svg, const std::vector<RecordedRun>& runs);

} // namespace bubblescope::cli
