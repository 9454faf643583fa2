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

/// Where the pipeline comes from, and the confidence in it.
struct Explanation {
    /// "stated": in our own files; "annotations": ops are named in the trace; "inferred": from the order of compute and
    /// transfers; "given": by the user.
    std::string source = "annotations";
    /// 0 … 1. For named ops: fraction of steps that ran in the schedule's order (for a custom schedule: in the order
    /// of the first step). If inferred: how well the schedule explains order, transfers and times, divided by the
    /// number of equally good schedules; see ScheduleFit. Values of 0.8 or more are reliable; below 0.5 no schedule is
    /// returned.
    double confidence = 1;
    std::vector<std::string> evidence; ///< sentences
    std::string framework;             ///< name and version of a recorded job's framework, if reported; otherwise empty
    std::string called;                ///< name of the schedule in the framework
    std::string family;                ///< name of the schedule in Bubblescope; empty if unknown
    std::string flavor;
    std::vector<int> layers;               ///< number of layers per stage, if the framework reported it for all stages;
                                           ///< empty otherwise
    std::vector<std::string> alternatives; ///< other schedules that explain the trace equally well
};

/// Options for reading a trace.
struct LoadOptions {
    std::vector<RecognitionRule> rules; ///< tried before the built-in rules
    TraceRules reading;                 ///< rules for the kind of each track and the rank of each file
    std::optional<Mesh> mesh;           ///< numbering of global ranks
    /// The intended order of the steps, as an order or as a family. Sizes of 0 are replaced by those of the trace. The
    /// observed order is compared only with this schedule. If ops are not annotated, it also maps blocks to ops.
    std::optional<Schedule> schedule;
    std::optional<ScheduleSpec> family;
    /// If not 0, reads only this many uncompressed bytes in total, from the start of each file, where the first steps
    /// are. Data that is missing only because of this limit is listed among the problems. Files that can only be read
    /// as a whole are unusable.
    std::uint64_t first_bytes = 0;
};

/// A loaded trace with the pipeline found in it. Immutable; shared between views as
/// shared_ptr<const Run>.
struct Run {
    std::vector<std::filesystem::path> files; ///< files that were read
    std::string format;                       ///< "perfetto", "chrome", "kineto", "megatron"
    std::string annotation;                   ///< the rule that recognised the ops, for display
    std::optional<RunInfo> info;              ///< metadata from our own files
    Schedule schedule;                        ///< order of the steps; named "custom" if it is not the order of a
                                              ///< family
    std::optional<Departure> departure;       ///< for a custom order: its departure from the closest family
    std::string closest;                      ///< name of the closest family, or of the user's schedule
    std::optional<Schedule> closest_order;    ///< order of the closest family or the user's schedule
    Explanation explanation;
    std::optional<RankPlaces> places;       ///< mesh coordinates of the files' ranks, if known
    std::vector<StepTimeline> steps;        ///< complete steps, in order
    std::vector<std::string> communicators; ///< names, see CommSpan::communicator
    std::optional<KernelTiming> timing;     ///< only for files written by Bubblescope with kernels
    CheckLog checks;                        ///< checks in bubbles, as recorded in our own files
    std::vector<Diagnostic> problems;
    std::int64_t slices = 0;
    TimeNs span{0};                     ///< time from the first to the last event
    std::shared_ptr<const Trace> trace; ///< the raw slices; null if only steps were kept

    /// Name of a transfer's communicator; empty if unknown.
    [[nodiscard]] std::string communicatorOf(const CommSpan& span) const {
        return span.communicator == 0 || span.communicator > communicators.size()
                   ? std::string()
                   : communicators[span.communicator - 1];
    }
    /// The requested files; unusable files have no format.
    [[nodiscard]] std::span<const TraceFile> inputs() const;
};

/// Loads files (or every trace file below a directory), merges them into one trace and recognises its pipeline. Formats
/// are detected from the content; compressed files are decompressed. Partly corrupt input is loaded as far as possible,
/// and problems are listed in Run::problems. Errors: Input, with file and position, if nothing usable remains or no
/// pipeline op is found; Cancelled if `control.stop` was requested.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                  const LoadOptions& options = {});

/// A loaded trace, with its pipeline if there is one.
struct LoadedTrace {
    Run run;                               ///< without a pipeline: files, format, problems, sizes, slices
    std::optional<Error> no_pipeline = {}; ///< reason why there is no pipeline
    bool holds_ops = false;                ///< true if there are pipeline ops but no complete pipeline
    /// Device work, if there is no pipeline and recognition needed it.
    std::shared_ptr<const GpuWork> gpu = {};
};

/// Like loadRun(), but for callers that do not need a pipeline: a trace without one is not an error, unless the user
/// specified its schedule.
[[nodiscard]] Result<LoadedTrace> loadTrace(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                            const LoadOptions& options = {});

/// The checks and digests recorded in a run, even if its files contain no ops.
struct RecordedChecks {
    std::vector<std::filesystem::path> files;
    CheckLog log;
    std::optional<RunInfo> info; ///< information about the run that its files contain
    std::vector<Diagnostic> problems;
};

/// Reads files, or all trace files below directories. Errors: those of loadRun(), and Input if there are neither checks
/// nor digests.
[[nodiscard]] Result<RecordedChecks> loadChecks(const std::vector<std::filesystem::path>& paths, JobControl& control);

} // namespace bubblescope
