#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A made-up run for users without a trace. It is simulated, so it is the same on every machine.
struct DemoTrace {
    std::string_view name;        ///< for the command line and the file: "slow-last-stage"
    std::string_view title;       ///< display name
    std::string_view description; ///< one sentence about what it shows
};

/// Increase this when a demo's content changes, so that older files are not mistaken for it.
inline constexpr int kDemoVersion = 1;

/// All demos, the simplest first.
[[nodiscard]] std::span<const DemoTrace> demoTraces();
/// Null if no demo has that name.
[[nodiscard]] const DemoTrace* findDemoTrace(std::string_view name);

/// The content of a demo's file.
struct DemoRun {
    RunInfo info; ///< `faults` describes how it differs from an undisturbed run
    std::vector<StepTimeline> steps;
    std::vector<CheckRecord> checks; ///< by rank and time
};

/// Takes a few milliseconds. Errors: Usage for an unknown name, listing the demos.
[[nodiscard]] Result<DemoRun> makeDemo(std::string_view name);

/// Writes a demo as a Perfetto trace; creates missing folders. Errors: as makeDemo(), and Input if the file cannot be
/// written.
[[nodiscard]] Status writeDemo(std::string_view name, const std::filesystem::path& file);

} // namespace bubblescope
