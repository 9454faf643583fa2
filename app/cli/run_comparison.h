#pragma once

#include "app/cli/model_options.h"
#include "app/cli/recorded_run.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"

#include <string>
#include <vector>

namespace bubblescope::cli {

/// Input of `run --compare`, which trains one model with several schedules, one after another.
struct Comparison {
    const ScheduleRequest& schedule; ///< the first schedule, if specified in the request
    std::vector<std::string> names;  ///< the other schedules: NAME, NAME/FLAVOR or /FLAVOR
    /// Specifies the first schedule's layers per chunk. Default: the smallest number that suits all schedules.
    const ModelOptions& model;
};

/// Combines `base` with each schedule and its op times. All runs train the same model on the same data, so a schedule
/// with more chunks per rank has smaller chunks and proportionally shorter ops. `times` are the op times of the first
/// schedule. Each schedule uses --vpp if it supports that number of chunks, otherwise the smallest number that it
/// supports. Error: Usage, if the blocks of a rank cannot be divided evenly.
[[nodiscard]] Result<std::vector<runtime::RunConfig>>
planComparison(const Comparison& comparison, const CostModel& times, const runtime::RunConfig& base);

/// Folder of each run, named after the run and below `out` unless `out` is empty. The second of two equal names gets
/// the suffix "-2".
[[nodiscard]] std::vector<std::string> foldersOf(const std::vector<runtime::RunConfig>& configs,
                                                 const std::string& out);

/// Performs the runs and records each of them in its own folder. `team` has the same meaning as in recordRun().
[[nodiscard]] Result<std::vector<RecordedRun>> recordAll(const std::vector<runtime::RunConfig>& configs,
                                                         const std::vector<std::string>& folders, ProcessTeam* team);

/// A table that compares the runs and their final weights. If `json` is set, the full report of each run.
[[nodiscard]] report::Document comparisonDocument(const std::vector<RecordedRun>& runs, bool json);

/// Draws the typical step of each run; does nothing without --svg.
[[nodiscard]] Status drawRuns(const SvgOptions& svg, const std::vector<RecordedRun>& runs);

} // namespace bubblescope::cli
