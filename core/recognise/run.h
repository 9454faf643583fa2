#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/families/registry.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/mesh.h"
#include "core/recognise/rule_table.h"
#include "core/timeline/checks.h"
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

class GpuWork;
class Trace;
struct TraceFile;

/// The first op at which an observed order differs from the closest schedule.
struct Departure {
    Rank rank;
    std::size_t index = 0; ///< in the rank's list
    Op expected;
    Op observed;
};

/// The way in which the pipeline was found, and the confidence in it.
struct Explanation {
    /// "stated": by our own files; "annotations": ops are named in the trace; "inferred": from the order of compute and
    /// transfers; "given": by the user.
    std::string source = "annotations";
    /// 0 … 1. For named ops: the fraction of steps that ran in the schedule's order (of a custom one: in the first
    /// step's). If inferred: how well the schedule explains order, transfers and times, divided by the number of
    /// schedules that do so equally well, see ScheduleFit; from 0.8 on the result can be trusted, below 0.5 there is
    /// none.
    double confidence = 1;
    std::vector<std::string> evidence; ///< sentences
    std::string framework;             ///< name and version of a recorded job's framework, if reported; otherwise empty
    std::string called;                ///< that framework's name for the schedule
    std::string family;                ///< Bubblescope's name for it; empty if unknown
    std::string flavor;
    std::vector<int>
        layers; ///< number of layers per stage, as reported by that framework; empty unless reported for all stages
    std::vector<std::string> alternatives; ///< schedules with another order that explain the trace equally well
};

/// The user's information about a trace.
struct LoadOptions {
    std::vector<RecognitionRule> rules; ///< tried before the built-in rules
    TraceRules reading;                 ///< the kind of each track and the rank of each file
    std::optional<Mesh> mesh;           ///< how global ranks are numbered
    /// The intended order of the steps, as an order or as a family; sizes that are 0 are taken from the trace. The
    /// observed order is compared with it alone, and if ops are not annotated, it determines which block is which op.
    std::optional<Schedule> schedule;
    std::optional<ScheduleSpec> family;
    /// If not 0, reads only this many unpacked bytes from the beginnings of all files together: the first steps. Data
    /// that is missing only for this reason is listed among the problems. Files that cannot be read in part are
    /// unusable.
    std::uint64_t first_bytes = 0;
};

/// A loaded trace with the pipeline found in it. Immutable; shared between views as
/// shared_ptr<const Run>.
struct Run {
    std::vector<std::filesystem::path> files; ///< files that were actually read
    std::string format;                       ///< "perfetto", "chrome", "kineto", "megatron"
    std::string annotation;                   ///< the rule that recognised the ops, for display
    std::optional<RunInfo> info;              ///< the information that our own files contain about themselves
    Schedule schedule;                        ///< the order that the steps ran; named "custom" if no family's order
                                              ///< equals it
    std::optional<Departure> departure;       ///< from the closest family, if the order equals none
    std::string closest;                      ///< that family's name, or the given schedule's
    std::optional<Schedule> closest_order;    ///< order of that family or schedule
    Explanation explanation;
    std::optional<RankPlaces> places;   ///< places of the files' ranks in the job's mesh, if known
    std::vector<StepTimeline> steps;    ///< complete steps, in order
    std::optional<KernelTiming> timing; ///< for our own files with kernels
    CheckLog checks;                    ///< records of checks in bubbles in our own files
    std::vector<Diagnostic> problems;
    std::int64_t slices = 0;
    TimeNs span{0};                     ///< first to last event
    std::shared_ptr<const Trace> trace; ///< the raw slices; null if only steps were kept

    /// The requested files; an unusable one has no format.
    [[nodiscard]] std::span<const TraceFile> inputs() const;
};

/// Loads files (or every trace file below a directory), merges them into one trace and recognises its pipeline. Formats
/// are detected by content; compressed files are decompressed. Partly damaged input is loaded as far as possible, and
/// its problems are listed in Run::problems. Errors: Input, naming file and place, if nothing usable remains or no
/// pipeline op is found; Cancelled if `control.stop` was requested.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                  const LoadOptions& options = {});

/// A loaded trace, with its pipeline if there is one.
struct LoadedTrace {
    Run run;                               ///< without a pipeline: only files, format, problems, sizes and raw slices
    std::optional<Error> no_pipeline = {}; ///< why there is no pipeline
    bool holds_ops = false;                ///< there are ops of a pipeline, but the pipeline is incomplete
    /// Without a pipeline: the device work, if recognition needed it.
    std::shared_ptr<const GpuWork> gpu = {};
};

/// Like loadRun(), for callers that need no pipeline: a trace without one is not an error, unless the user gave its
/// schedule.
[[nodiscard]] Result<LoadedTrace> loadTrace(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                            const LoadOptions& options = {});

/// The records of a run about checks and digests, whether or not its files have ops.
struct RecordedChecks {
    std::vector<std::filesystem::path> files;
    CheckLog log;
    std::optional<RunInfo> info; ///< the files' information about the run
    std::vector<Diagnostic> problems;
};

/// Reads files, or all trace files below directories. Errors: those of loadRun(), and Input if there is neither a check
/// nor a digest.
[[nodiscard]] Result<RecordedChecks> loadChecks(const std::vector<std::filesystem::path>& paths, JobControl& control);

} // namespace bubblescope
