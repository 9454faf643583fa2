#pragma once

#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/cost/cost_model.h"
#include "core/cost/memory_model.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

struct ScheduleProblem {
    std::string kind; ///< rank-count, chunk-count, out-of-range, pair, duplicate, missing, memory, deadlock
    Rank rank;
    std::size_t index = 0; ///< index in the rank's list; the list's length if an op is missing
    Sentence message;
};

struct ValidateOptions {
    /// Maximum number of activations per rank. A forward's activations for one chunk are counted from the F to the end
    /// of the B or W.
    std::optional<int> memory_limit;
    /// Maximum number of bytes per rank for everything that the rank stores; replaces the limit above if both are set.
    /// The memory model must cover every stage of the schedule.
    std::optional<MemoryModel> memory = std::nullopt;
    std::optional<std::int64_t> memory_budget = std::nullopt;
    /// With asynchronous sends, a rank waits only for its inputs. Other modes (rendezvous.h) may cause deadlocks in
    /// orders that run with asynchronous sends.
    SendMode sends = SendMode::Asynchronous;
};

/// All problems, by rank and index. A deadlock comes last, with its cycle op by op, including sends and receives if
/// they contribute to it. Empty if the schedule can be executed and runs each forward and backward of every micro-batch
/// and stage exactly once. Linear in ops.
[[nodiscard]] std::vector<ScheduleProblem> validate(const Schedule& schedule, const ValidateOptions& options = {});

/// The graph of a schedule with exactly the required ops. Does not check whether the order can be executed;
/// visitInOrder() does. Error: Input, with the name of the schedule and its first problem.
[[nodiscard]] Result<OpGraph> completeGraph(const Schedule& schedule);

/// A valid schedule, prepared for execution.
struct Execution {
    OpGraph graph;
    std::vector<OpIndex> order; ///< an order in which all ops can run
};

/// Validates and prepares a schedule. Error: Input, with the name of the schedule and its first problem.
[[nodiscard]] Result<Execution> prepareExecution(const Schedule& schedule);

/// The first problem of an invalid schedule, as an Input error.
[[nodiscard]] Error whyNotExecutable(const Schedule& schedule, SendMode sends);

/// Maximum number of activations stored per rank, counted as in ValidateOptions.
[[nodiscard]] std::vector<int> peakActivations(const Schedule& schedule);

} // namespace bubblescope
