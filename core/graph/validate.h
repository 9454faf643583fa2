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

/// One thing that is wrong with a schedule.
struct ScheduleProblem {
    std::string kind; ///< rank-count, chunk-count, out-of-range, pair, duplicate, missing, memory, deadlock
    Rank rank;
    std::size_t index = 0; ///< in the rank's list; its length where an op is missing
    Sentence message;
};

struct ValidateOptions {
    /// Most activations a rank may hold, counted in forward ops of one chunk; each is held from its F to
    /// the end of its B or W.
    std::optional<int> memory_limit;
    /// Likewise in bytes, all that a rank holds: where both are given. The model names every stage of the schedule.
    std::optional<MemoryModel> memory = std::nullopt;
    std::optional<std::int64_t> memory_budget = std::nullopt;
    /// With asynchronous sends a rank waits only for its inputs; the others (rendezvous.h) can block an order
    /// that runs with those.
    SendMode sends = SendMode::Asynchronous;
};

/// Every problem, by rank and index; the deadlock, if any, last and with its cycle op by op, sends and receives
/// included where they cause it. Empty = the schedule can be executed and does each forward and backward of
/// every micro-batch and stage exactly once. Linear in ops.
[[nodiscard]] std::vector<ScheduleProblem> validate(const Schedule& schedule, const ValidateOptions& options = {});

/// The graph of a schedule that has exactly the ops that it needs. Does not check that its order can be executed:
/// visitInOrder() does. Error: Input, naming the schedule and its first problem.
[[nodiscard]] Result<OpGraph> completeGraph(const Schedule& schedule);

/// A valid schedule, prepared for execution.
struct Execution {
    OpGraph graph;
    std::vector<OpIndex> order; ///< one in which all ops can run
};

/// Validates and prepares in one go. Error: Input, naming the schedule and its first problem.
[[nodiscard]] Result<Execution> prepareExecution(const Schedule& schedule);

/// The first problem of a schedule that has one, as an Input error.
[[nodiscard]] Error whyNotExecutable(const Schedule& schedule, SendMode sends);

/// Activations held at most, per rank, counted as in ValidateOptions.
[[nodiscard]] std::vector<int> peakActivations(const Schedule& schedule);

} // namespace bubblescope
