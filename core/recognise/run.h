#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/base/result.h"
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

/// A loaded trace with the pipeline found in it. Immutable; shared between views as
/// shared_ptr<const Run>.
struct Run {
    std::vector<std::filesystem::path> files; ///< those actually read
    std::string format;                       ///< "perfetto", "chrome", "kineto", "megatron"
    std::string annotation;                   ///< which rule recognised the ops, for people
    std::optional<RunInfo> info;              ///< what our own files say of themselves
    Schedule schedule;                        ///< what the steps ran; name "custom" if no family's order equals it
    std::optional<Departure> departure;       ///< from the closest family, when the order equals none
    std::string closest;                      ///< that family's name
    std::optional<Schedule> closest_order;    ///< and its order
    std::vector<StepTimeline> steps;          ///< complete steps, in order
    std::vector<Diagnostic> problems;
    std::int64_t slices = 0;
    TimeNs span{0};                     ///< first to last event
    std::shared_ptr<const Trace> trace; ///< the raw slices
};

/// Loads files (or every trace file below a directory), merges them into one trace and recognises its
/// pipeline. Formats are recognised by content; gzip is unpacked. Partly damaged input is loaded as far
/// as it goes and listed in Run::problems. Errors: Input, naming file and place, when nothing usable
/// remains or no pipeline op is found; Cancelled when `control.stop` was requested.
[[nodiscard]] Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control);

} // namespace bubblescope
