#pragma once

#include "core/base/result.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Times of a stage's ops that a split of layers changes: F, I and W; B is I + W. Nanoseconds.
using StageDurations = std::array<std::int64_t, 3>;

/// How often each of a stage's times lies on a path through the step.
struct StepPath {
    std::vector<StageDurations> counts; ///< by stage
    std::int64_t transfers = 0;         ///< between ranks, each of the latency
};

/// The length of one schedule's step for many different stage times. The same rule as simulate(), with nothing
/// kept but the ends: a longest path through ops in an order that is found once. Not for several threads at once.
class StepEvaluator {
public:
    /// Error as of prepareExecution(), where the schedule is invalid.
    static Result<StepEvaluator> make(const Schedule& schedule, std::int64_t comm_ns);

    [[nodiscard]] std::size_t stages() const { return stages_; }
    [[nodiscard]] std::int64_t comm() const { return comm_; }

    /// Last end of all ops. Linear in ops.
    std::int64_t length(const std::vector<StageDurations>& times);
    /// A path that made the last length(): the sum of its times and transfers is that length.
    [[nodiscard]] StepPath longestPath() const;

private:
    struct Node {
        OpIndex before = kNoOp;         ///< in this evaluator's order: the one before on its rank
        OpIndex producer = kNoOp;       ///< whose data it needs
        OpIndex other_producer = kNoOp; ///< a pair has two halves
        std::uint8_t crosses = 0;       ///< bit 0: the producer's data comes from another rank; bit 1: the other's
        std::array<std::int32_t, 2> stage{};
        std::array<std::array<std::uint8_t, 3>, 2> counts{}; ///< of F, I, W; the second is of a pair's other half
    };

    [[nodiscard]] std::int64_t duration(const Node& node, const std::vector<StageDurations>& times) const;
    [[nodiscard]] std::int64_t arrival(OpIndex producer, bool crosses) const;

    std::size_t stages_ = 0;
    std::int64_t comm_ = 0;
    std::vector<Node> nodes_;
    std::vector<std::int64_t> ends_;
    std::vector<std::int64_t> starts_;
};

} // namespace bubblescope
