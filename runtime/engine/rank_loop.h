#pragma once

#include "runtime/device/device_clock.h"
#include "runtime/engine/engine.h"
#include "runtime/transport/inproc/mailbox.h"
#include "runtime/transport/inproc/step_barrier.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
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
    const DataPlan plan;
    JobControl& control;
    std::atomic<bool> aborted{false};
    std::deque<Mailbox> mailboxes; ///< by rank
    StepBarrier barrier;
    /// By step, each pipeline's share by its number; written by the ranks of the last stages.
    std::vector<std::vector<double>> losses;
    std::vector<std::unique_ptr<StageModel>> stages; ///< by stage; each written by its rank

private:
    std::mutex mutex_;
    std::optional<Error> error_;
};

struct RankCounts {
    std::int64_t ops = 0;
    std::int64_t late_ops = 0;
    TimeNs max_lateness{0};
    MemoryUse memory; ///< when the rank held most
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

    /// A message as it reached this rank.
    struct Arrival {
        MessageKey key;
        Tensor tensor;
        Rank from;
        TimeNs sent{0};
        TimeNs time{0};
    };
    using Arrivals = std::vector<std::optional<Arrival>>;

    void runSteps();
    void buildStages();
    void runStep();
    /// One op, or both of an overlapped pair: they begin together, when the inputs of both are there, and
    /// end together. Their maths is done in the order of the list; each output is sent when it exists.
    void runTogether(std::span<const Op> ops);
    void runOptimizer();
    void endStep();
    [[nodiscard]] TimeNs nominalTime(std::span<const Op> ops) const;
    /// The data from the neighbouring stage; waits for it. Nothing where the op needs none.
    [[nodiscard]] std::optional<Arrival> receiveInput(const Op& op);
    /// Waits for a message, which comes from the rank of the producing stage.
    [[nodiscard]] Arrival receive(const MessageKey& key);
    /// Records what came from other ranks, and that the rank waited for it until `ready`.
    void recordArrivals(const Arrivals& arrivals, TimeNs ready);
    [[nodiscard]] Tensor compute(const Op& op, Tensor input);
    void sendOutput(const Op& op, Tensor output, TimeNs end);
    /// Hands the rank's gradients to the copies of its stages in other pipelines and adds theirs, if there are
    /// any: by chunk, the sums of all pipelines. `ready` grows to when the last of them is there.
    [[nodiscard]] std::vector<Tensor> sumGradients(TimeNs& ready);
    /// Holds the rank until the ops have ended, then records them.
    void holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end);
    void noteMemory();
    void recordComm(CommKind kind, const MessageKey& key, Rank peer, TimeNs start, TimeNs end);
    [[nodiscard]] Stage stageOf(const Op& op) const { return schedule_.stageOf(rank_, op.chunk); }
    [[nodiscard]] StageModel& model(Stage stage) { return *state_.stages[stage.index()]; }
    [[nodiscard]] Rank rankOf(Stage stage) const { return locate(schedule_.placement, schedule_.pp, stage).rank; }
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
