#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/mesh.h"
#include "core/recognise/rule_table.h"
#include "core/schedule/registry.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

class Trace;

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
    /// 0 … 1. Named ops: the share of steps that ran in the schedule's order (of a custom one: in the first step's).
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
    std::vector<Diagnostic> problems;
    std::int64_t slices = 0;
    TimeNs span{0};                     ///< first to last event
    std::shared_ptr<const Trace> trace; ///< the raw slices
};

/// Loads files (or every trace file below a directory), merges them into one trace and recognises its
/// pipeline. Formats are recognised by content; gzip is unpacked. Partly damaged input is loaded as far
/// as it goes and listed in Run::problems. Errors: Input, naming file and place, when nothing usable
/// remains or no pipeline op is found; Cancelled when `control.stop` was requested.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control,
                                  const LoadOptions& options = {});

} // namespace bubblescope
