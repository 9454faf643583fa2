#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/timeline/step_timeline.h"
#include "runtime/clock/device_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/model/data_plan.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The result of a run in which stages do not belong to ranks.
struct MovingRunResult {
    EngineResult engine; ///< `losses` has one entry per step and update; `stages` are those that their owners train
    StepTimeline last;   ///< ops of the last step; chunks are stage numbers
    std::vector<TimeNs> walls; ///< of each step: from its start to the end of its last op, without the update
};

/// State shared by the ranks of such a run, which are threads of this process. Each rank writes its own entries.
struct MovingRun {
    MovingRun(const EngineConfig& engine_config, const EngineParts& engine_parts, JobControl& job_control);

    const EngineConfig& config;
    const EngineParts& parts;
    const DataPlan plan;
    JobControl& control;
    std::atomic<int> steps;                          ///< as RunState::steps
    std::vector<double> losses;                      ///< of the current step, by micro-batch
    std::vector<std::unique_ptr<StageModel>> stages; ///< those of the owners, by stage
    StepTimeline last;                               ///< the latest step
    std::vector<double> step_losses;                 ///< written by the first rank
    std::vector<TimeNs> walls;                       ///< written by the first rank
};

/// One rank: steps, the clock, and what is counted. Derived classes run the ops. For the rank's thread.
class MovingRank {
public:
    MovingRank(MovingRun& run, std::size_t local);
    MovingRank(const MovingRank&) = delete;
    MovingRank& operator=(const MovingRank&) = delete;
    virtual ~MovingRank() = default;

    /// Runs all steps. A failure ends the run for all ranks.
    void run() noexcept;
    /// Adds what the rank has counted.
    void addTo(EngineResult& result) const;

protected:
    virtual void buildStages() = 0;
    /// Runs the ops of a step, except the update.
    virtual void runOps() = 0;
    /// Fetches the gradients of the rank's stages; returns the time at which the update can begin. All ranks have ended
    /// their ops at `end`.
    [[nodiscard]] virtual TimeNs gatherGradients(TimeNs end) = 0;
    /// Updates the weights of the rank's stages, as one op that takes the nominal time of firstOwned().
    virtual void update() = 0;
    [[nodiscard]] virtual Stage firstOwned() const = 0;

    struct Begun {
        Op op;
        TimeNs begin{0};
        TimeNs nominal{0};
    };
    /// Begins an op that can begin at `ready`. The op's chunk is its stage, except for the optimizer.
    [[nodiscard]] Begun begin(const Op& op, Stage stage, TimeNs ready);
    /// Ends the computation of an op; returns the op's end on the rank's clock, which may be in the future.
    [[nodiscard]] DeviceClock::End computed(const Begun& begun) { return clock_.end(begun.begin, begun.nominal); }
    /// Waits for the end of an op and records it.
    void hold(const Begun& begun, const DeviceClock::End& end);

    /// Marks the rank as idle until `time` on an emulated clock, otherwise until now.
    void idleUntil(TimeNs time);
    void send(Rank to, const MessageKey& key, Tensor tensor, TimeNs sent) {
        transport_.send(to, key, {std::move(tensor), sent});
    }
    /// Waits for a message; `op`, if given, is the op that needs it.
    [[nodiscard]] Taken receive(Rank from, const MessageKey& key, std::optional<Op> op = {});
    /// Stores this memory use if it is the largest so far.
    void countMemory(const MemoryUse& now);

    [[nodiscard]] int step() const { return step_; }
    [[nodiscard]] TimeNs stepBegin() const { return step_begin_; }
    [[nodiscard]] TimeNs lastEnd() const { return last_end_; } ///< of the rank's last op

    MovingRun& run_;
    Transport& transport_;
    const Rank rank_;
    DeviceClock clock_;

private:
    void runSteps();
    [[nodiscard]] bool goesOn();
    void runStep();
    void endTimeline(TimeNs end);
    [[nodiscard]] TimeNs barrier(TimeNs time);
    void report(Activity::Kind kind, const Op& op = {}, Rank peer = {}, TimeNs due = TimeNs{0});
    [[nodiscard]] std::string description() const;

    profiler::RecordRing* ring_; ///< null = nothing is recorded
    int step_ = 0;
    std::optional<Op> current_; ///< for messages
    TimeNs step_begin_{0};
    TimeNs last_end_{0};
    std::int64_t ops_ = 0;
    std::int64_t late_ops_ = 0;
    TimeNs max_lateness_{0};
    MemoryUse memory_;
};

[[nodiscard]] inline std::int64_t columnBytes(const Tensor& column) {
    return column.size() * static_cast<std::int64_t>(sizeof(float));
}

/// Runs the ranks, one thread each.
[[nodiscard]] Result<MovingRunResult> runMovingRanks(MovingRun& run,
                                                     const std::vector<std::unique_ptr<MovingRank>>& ranks);

} // namespace bubblescope::runtime
