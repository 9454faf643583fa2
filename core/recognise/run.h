#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/mesh.h"
#include "core/recognise/rule_table.h"
#include "core/schedule/families/registry.h"
#include "core/timeline/check_log.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

class Coordinator;
class PartitionedTrace;
class Trace;
struct TraceFile;

/// The first op at which an observed order leaves the schedule it is closest to.
struct Departure {
    Rank rank;
    std::size_t index = 0; ///< in the rank's list
    Op expected;
    Op observed;
};

/// How the pipeline was found, and how sure that is.
struct Explanation {
    /// "stated": by our own files; "annotations": ops are named in the trace; "inferred": from the order of compute and
    /// transfers; "given": by the user.
    std::string source = "annotations";
    /// 0 … 1. Named ops: the fraction of steps that ran in the schedule's order (of a custom one: in the first step's).
    /// Inferred: how well the schedule explains order, transfers and times, divided by the number of schedules that do
    /// as well, see ScheduleFit; from 0.8 on the answer can be trusted, below 0.5 there is none.
    double confidence = 1;
    std::vector<std::string> evidence;     ///< sentences
    std::vector<std::string> alternatives; ///< schedules of another order that explain the trace as well
};

/// What a user knows of a trace.
struct LoadOptions {
    std::vector<RecognitionRule> rules; ///< tried before the built-in ones
    std::optional<Mesh> mesh;           ///< how global ranks are numbered
    /// What the steps were meant to run, either as an order or as a family; sizes that are 0 are those of the trace.
    /// The observed order is compared with it alone, and where ops are not annotated it tells which is which.
    std::optional<Schedule> schedule;
    std::optional<ScheduleSpec> family;
};

/// A loaded trace with the pipeline found in it. Immutable; shared between views as
/// shared_ptr<const Run>.
struct Run {
    std::vector<std::filesystem::path> files; ///< those actually read
    std::string format;                       ///< "perfetto", "chrome", "kineto", "megatron"
    std::string annotation;                   ///< which rule recognised the ops, for people
    std::optional<RunInfo> info;              ///< what our own files say of themselves
    Schedule schedule;                        ///< what the steps ran; name "custom" if no family's order equals it
    std::optional<Departure> departure;       ///< from the closest family, when the order equals none
    std::string closest;                      ///< that family's name, or the given schedule's
    std::optional<Schedule> closest_order;    ///< and its order
    Explanation explanation;
    std::optional<RankPlaces> places; ///< of the files' ranks in the job's mesh, where they are known
    std::vector<StepTimeline> steps;  ///< complete steps, in order
    CheckLog checks;                  ///< what our own files say of checks in bubbles
    std::vector<Diagnostic> problems;
    std::int64_t slices = 0;
    TimeNs span{0};                               ///< first to last event
    std::shared_ptr<const Trace> trace;           ///< the raw slices; null where several processes hold them
    std::shared_ptr<PartitionedTrace> partitions; ///< those processes' raw slices; else null

    /// Those that were to be read; one that could not be used has no format.
    [[nodiscard]] std::span<const TraceFile> inputs() const;
};

/// Loads files (or every trace file below a directory), merges them into one trace and recognises its
/// pipeline. Formats are recognised by content; gzip is unpacked. Partly damaged input is loaded as far
/// as it goes and listed in Run::problems. Errors: Input, naming file and place, when nothing usable
/// remains or no pipeline op is found; Cancelled when `control.stop` was requested.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                  const LoadOptions& options = {});

/// The same by several processes, of which this one leads and the others servePartition() (partitioned_trace.h): each
/// reads some of the files and recognises what is in them, and only that travels. The run is the one that a single
/// process loads, but for its raw slices, which stay where they were read. `coordinator` must outlive the run. Errors:
/// also Run, where a process fails.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                  const LoadOptions& options, Coordinator& coordinator);

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
