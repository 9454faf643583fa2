#pragma once

#include "core/base/result.h"
#include "core/graph/longest_path.h"
#include "core/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Times of a stage's ops that depend on the split of layers: F, I and W; B is I + W. Nanoseconds.
using StageDurations = std::array<std::int64_t, 3>;

/// A path through the step, given by how often it contains each of a stage's times.
struct StepPath {
    std::vector<StageDurations> counts; ///< by stage
    std::int64_t transfers = 0;         ///< between ranks, each taking the latency
};

/// The length of one schedule's step for many different stage times. Uses the same rules as simulate() with
/// asynchronous sends, but only keeps the ends. Not thread-safe.
class StepEvaluator {
public:
    /// Error: Input, as for completeGraph(), if the schedule is invalid.
    static Result<StepEvaluator> make(const Schedule& schedule, std::int64_t comm_ns);

    [[nodiscard]] std::size_t stages() const { return stages_; }
    [[nodiscard]] std::int64_t comm() const { return comm_.count(); }

    /// Last end of all ops. Linear in ops.
    std::int64_t length(const std::vector<StageDurations>& times);
    /// A path that determined the last length(): the sum of its times and transfers is that length.
    [[nodiscard]] StepPath longestPath() const;

private:
    /// The parts of a unit's duration: `counts` times its stage's F, I and W; a pair has two halves.
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
    TaskTimes ends_;                    ///< of the last length()
};

} // namespace bubblescope
