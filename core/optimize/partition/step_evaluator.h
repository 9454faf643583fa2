#pragma once

#include "core/base/result.h"
#include "core/graph/longest_path.h"
#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// A stage's op times, which depend on the split of layers: F, I and W, in nanoseconds; B is I + W.
using StageDurations = std::array<std::int64_t, 3>;

/// A path through the step, represented by the number of times that each of a stage's durations occurs in it.
struct StepPath {
    std::vector<StageDurations> counts; ///< by stage
    std::int64_t transfers = 0;         ///< number of transfers between ranks, each taking the latency
};

/// Computes the length of one schedule's step for many different stage times. Uses the rules of simulate() with
/// asynchronous sends, but stores only the ends. Not thread-safe.
class StepEvaluator {
public:
    /// Error: Input, as for completeGraph(), if the schedule is invalid.
    static Result<StepEvaluator> make(const Schedule& schedule, std::int64_t comm_ns);

    [[nodiscard]] std::size_t stages() const { return stages_; }
    [[nodiscard]] std::int64_t comm() const { return comm_.count(); }

    /// The end of the last op. Linear in ops.
    std::int64_t length(const std::vector<StageDurations>& times);
    /// A path that determined the last result of length(); this result is the sum of the path's times and transfers.
    [[nodiscard]] StepPath longestPath() const;

private:
    /// Parts of a unit's duration: each entry of `counts` multiplied by its stage's F, I or W. A pair has two halves.
    struct Work {
        std::array<std::int32_t, 2> stage{};
        std::array<std::array<std::uint8_t, 3>, 2> counts{};
    };
    [[nodiscard]] static TimeNs duration(const Work& work, const std::vector<StageDurations>& times);

    std::size_t stages_ = 0;
    TimeNs comm_{0};
    TaskGraph units_;
    std::vector<Work> work_;            ///< per unit
    std::vector<std::uint8_t> crosses_; ///< per edge of `units_`: 1 if a transfer brings the input, otherwise 0
    TaskTimes ends_;                    ///< ends of units in the last length() call
};

} // namespace bubblescope
