#pragma once

#include "app/cli/model_options.h"
#include "app/cli/recorded_run.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// `run --compare`: one model, trained with several schedules one after another.
struct Comparison {
    const ScheduleRequest& schedule; ///< the first schedule, if it names one
    std::vector<std::string> names;  ///< the other schedules: NAME, NAME/FLAVOR or /FLAVOR
    /// Layers per chunk apply to the first schedule; none = as few as all schedules can cut evenly.
    const ModelOptions& model;
};

/// The configurations of the runs: `base` with each schedule and that schedule's op times. All runs train the same
/// model on the same data, so a schedule with more chunks per rank has smaller chunks, and its op times shrink
/// accordingly. `times` are the op times of the first schedule. Each schedule uses --vpp or, if it cannot, the smallest
/// number of chunks that it supports. Usage error if the blocks of a rank cannot be cut evenly.
[[nodiscard]] Result<std::vector<runtime::RunConfig>>
planComparison(const Comparison& comparison, const CostModel& times, const runtime::RunConfig& base);

/// The folder of each run: named after it, below `out` if that is not empty; the second of two equal names gets the
/// suffix "-2".
[[nodiscard]] std::vector<std::string> foldersOf(const std::vector<runtime::RunConfig>& configs,
                                                 const std::string& out);

/// Performs the runs and records each in its folder. `team` is as in recordRun().
[[nodiscard]] Result<std::vector<RecordedRun>> recordAll(const std::vector<runtime::RunConfig>& configs,
                                                         const std::vector<std::string>& folders, ProcessTeam* team);

/// A table that compares the runs and their final weights; for programs (`json`), each run in full.
[[nodiscard]] report::Document comparisonDocument(const std::vector<RecordedRun>& runs, bool json);

/// Draws each run's typical step; does nothing without --svg.
[[nodiscard]] Status drawRuns(const SvgOptions& svg, const std::vector<RecordedRun>& runs);

} // namespace bubblescope::cli
