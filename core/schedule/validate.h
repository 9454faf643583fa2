#pragma once

#include "core/base/result.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// One thing that is wrong with a schedule.
struct ScheduleProblem {
    std::string kind; ///< rank-count, chunk-count, out-of-range, pair, duplicate, missing, memory, deadlock
    Rank rank;
    std::size_t index = 0; ///< in the rank's list; its length where an op is missing
    std::string message;
};

struct ValidateOptions {
    /// Most activations a rank may hold, counted in forward ops of one chunk; each is held from its F to
    /// the end of its B or W.
    std::optional<int> memory_limit;
};

/// Every problem, by rank and index; the deadlock, if any, last and with its cycle op by op. Sends are
/// taken as asynchronous: a rank waits only for its inputs. Empty = the schedule can be executed and does
/// each forward and backward of every micro-batch and stage exactly once. Linear in ops.
[[nodiscard]] std::vector<ScheduleProblem> validate(const Schedule& schedule, const ValidateOptions& options = {});

/// What it takes to execute a valid schedule.
struct Execution {
    OpGraph graph;
    std::vector<OpIndex> order; ///< one in which all ops can run
};

/// Validates and prepares in one go. Error: Input, naming the schedule and its first problem.
[[nodiscard]] Result<Execution> prepareExecution(const Schedule& schedule);

/// Activations held at most, per rank, counted as in ValidateOptions.
[[nodiscard]] std::vector<int> peakActivations(const Schedule& schedule);

} // namespace bubblescope
