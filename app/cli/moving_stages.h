#pragma once

#include "app/cli/command.h"
#include "app/cli/svg_options.h"
#include "core/graph/moving_weights.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/schedule_request.h"
#include "runtime/run.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::cli {

/// Options of `simulate` that apply to schedules with moving stages, in addition to the schedule.
struct MovingOptions {
    WeightTimes weights;
    std::optional<int> nodes; ///< only for tawpipe
    const SvgOptions& svg;
    std::string csv; ///< path of a table of ranks, "-" is standard output; empty = none
    std::string out; ///< path of a trace; empty = none
    bool ops = false;
    bool json = false;
};

/// True if the requested schedule does not bind stages to ranks. Commands handle such schedules separately.
[[nodiscard]] bool movesStages(const ScheduleRequest& request);

/// Rejects the first option that is given, which has no effect with the schedule. `options` has for each whether it is
/// given, and its name. Errors: Usage.
[[nodiscard]] Status rejectGiven(std::span<const std::pair<bool, const char*>> options, std::string_view schedule);

/// Sets the schedule and the moving stages of a run. `config.times` must be set. Errors: Usage.
[[nodiscard]] Status planMovingRun(const ScheduleRequest& request, const WeightTimes& weights, std::optional<int> nodes,
                                   runtime::RunConfig& config);

/// Trains with stages that do not belong to ranks, and prints losses, the digest, and the last step with its
/// simulation. Errors: those of runPipeline(); Usage; those of writing files.
[[nodiscard]] CommandResult runMoving(const runtime::RunConfig& config, const SvgOptions& svg, bool json);

/// Simulates a schedule with moving stages and prints the result. Errors: Usage; those of writing files.
[[nodiscard]] CommandResult simulateMovingStages(const ScheduleRequest& request, const MovingOptions& options);

} // namespace bubblescope::cli
