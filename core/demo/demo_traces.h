#pragma once

#include "core/base/result.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// An artificial run for users without a trace. The run is simulated, so it is identical on every machine.
struct DemoTrace {
    std::string_view name;        ///< name on the command line and file name, such as "slow-last-stage"
    std::string_view title;       ///< display name
    std::string_view description; ///< one-sentence description of the demo
};

/// Increase this number when a demo's content changes, so that outdated files are not reused.
inline constexpr int kDemoVersion = 1;

/// All demos, starting with the simplest.
[[nodiscard]] std::span<const DemoTrace> demoTraces();
/// Returns null if no demo has that name.
[[nodiscard]] const DemoTrace* findDemoTrace(std::string_view name);

/// The content of a demo's file.
struct DemoRun {
    RunInfo info; ///< `faults` lists the differences from an undisturbed run
    std::vector<StepTimeline> steps;
    std::vector<CheckRecord> checks; ///< by rank and time
};

/// Takes a few milliseconds. Errors: Usage for an unknown name; the message lists the demos.
[[nodiscard]] Result<DemoRun> makeDemo(std::string_view name);

/// Writes a demo as a Perfetto trace; creates missing folders. Errors: those of makeDemo(), and Input if the file
/// cannot be written.
[[nodiscard]] Status writeDemo(std::string_view name, const std::filesystem::path& file);

} // namespace bubblescope
