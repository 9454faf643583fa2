#pragma once

#include "core/base/result.h"
#include "core/timeline/check_record.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A made-up run to look at before one has a trace of one's own. Simulated, so it is the same on every machine.
struct DemoTrace {
    std::string_view name;  ///< for the command line and the file: "slow-last-stage"
    std::string_view title; ///< for people
    std::string_view says;  ///< one sentence: what there is to see
};

/// Raised when what a demo holds changes, so that files written before are not taken for it.
inline constexpr int kDemoEdition = 1;

/// All there are, the simplest first.
[[nodiscard]] std::span<const DemoTrace> demoTraces();
/// Null if there is none of that name.
[[nodiscard]] const DemoTrace* findDemoTrace(std::string_view name);

/// What a demo's file holds.
struct DemoRun {
    RunInfo info; ///< what makes it unlike a calm run stands in its `faults`
    std::vector<StepTimeline> steps;
    std::vector<CheckRecord> checks; ///< by rank and time
};

/// Takes some milliseconds. Errors: Usage, naming the demos there are, for a name that none has.
[[nodiscard]] Result<DemoRun> makeDemo(std::string_view name);

/// Writes a demo as a Perfetto trace, and the folders down to it. Errors: those of makeDemo(), and Input where the file
/// cannot be written.
[[nodiscard]] Status writeDemo(std::string_view name, const std::filesystem::path& file);

} // namespace bubblescope
