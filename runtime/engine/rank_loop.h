#pragma once

#include "runtime/device/device_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/transport/inproc/mailbox.h"
#include "runtime/transport/inproc/step_barrier.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// What the rank threads of one run share.
class RunState {
public:
    RunState(const EngineConfig& engine_config, JobControl& job_control);

    /// Keeps the first error and ends all ranks: nobody waits any more, holds end early.
    void fail(Error error);
    [[nodiscard]] std::optional<Error> takeError();

    const EngineConfig& config;
    JobControl& control;
    std::atomic<bool> aborted{false};
    std::deque<Mailbox> mailboxes; ///< by rank
    StepBarrier barrier;
    std::vector<double> losses;                      ///< by step; written by the rank of the last stage
    std::vector<std::unique_ptr<StageModel>> stages; ///< by stage; each written by its rank

private:
    std::mutex mutex_;
    std::optional<Error> error_;
};

struct RankCounts {
    std::int64_t ops = 0;
    std::int64_t late_ops = 0;
    TimeNs max_lateness{0};
};

/// One rank: executes its list of ops, whatever the schedule. Lives on the rank's thread.
class RankLoop {
public:
    RankLoop(RunState& state, Rank rank);

    /// All steps. Catches everything: a failure is reported to the state.
    void run() noexcept;

    /// After run() has returned.
    [[nodiscard]] const RankCounts& counts() const { return counts_; }

private:
    /// Thrown to leave the loop when the run was ended elsewhere; the error is known already.
    struct Aborted {};

    struct Input {
        Tensor tensor;
        TimeNs arrival{0};
    };

    void runSteps();
    void buildStages();
    void runStep();
    void runOp(const Op& op);
    void runOptimizer();
    void endStep();
    /// The stage's data from its neighbour; waits for it. Empty and at once where the op needs none.
    Input receiveInput(const Op& op, Stage stage);
    [[nodiscard]] Tensor compute(const Op& op, Stage stage, Tensor input);
    void sendOutput(const Op& op, Stage stage, Tensor output, TimeNs end);
    /// Holds the rank until the op has ended, then records it.
    void holdAndRecord(const Op& op, Stage stage, TimeNs begin, TimeNs nominal, const DeviceClock::End& end);
    void recordComm(CommKind kind, const MessageKey& key, Rank peer, TimeNs start, TimeNs end);
    void checkStop();
    [[nodiscard]] TimeNs meet(TimeNs time);
    [[nodiscard]] std::string place() const;

    RunState& state_;
    const Schedule& schedule_;
    Rank rank_;
    DeviceClock clock_;
    profiler::RecordRing* ring_;
    int step_ = 0;
    std::optional<Op> current_; ///< for messages about failures
    RankCounts counts_;
};

} // namespace bubblescope::runtime
