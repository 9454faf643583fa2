#pragma once

#include "runtime/backend/device_clock.h"
#include "runtime/checks/rank_checker.h"
#include "runtime/engine/device_ops.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rank_record.h"
#include "runtime/engine/tensor_group.h"
#include "runtime/engine/wiring.h"
#include "runtime/faults/rank_faults.h"

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// What the ranks of one run that run here share.
struct RunState {
    RunState(const EngineConfig& engine_config, JobControl& job_control);

    const EngineConfig& config;
    const RunMesh mesh;
    const DataPlan plan;
    JobControl& control;
    /// One behind the last step. A rank that finds the run asked to end, on its way into a step, makes that step the
    /// last: no other rank is farther, since all meet at a step's end, and all look again before they go on.
    std::atomic<int> steps;
    std::vector<std::vector<double>> losses; ///< see EngineResult; written by the ranks of the last stages
    std::vector<std::vector<std::unique_ptr<StageModel>>> stages; ///< see EngineResult; each written by its rank
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
    /// `local` is its place among the ranks that run here.
    RankLoop(RunState& state, std::size_t local);

    /// All steps. Catches everything: a failure is told to the other ranks.
    void run() noexcept;

    /// After run() has returned.
    [[nodiscard]] const RankCounts& counts() const { return counts_; }

private:
    using Arrivals = std::vector<std::optional<Arrival>>;

    /// How many ops from `index` on run as one.
    [[nodiscard]] static std::size_t togetherFrom(std::span<const Op> ops, std::size_t index);

    void runSteps();
    /// Whether there is a step `step_`.
    [[nodiscard]] bool goesOn();
    void buildStages();
    void runStep();
    /// Calls the hook for bubbles that end with the op at `index` of the list.
    void meetBubbles(std::size_t index);
    /// Lets the rank check itself before the op at `index`.
    void checkBefore(std::size_t index);
    /// As checks see the rank, and its device where it has one.
    class BubbleClock;
    class DeviceBubbleClock;
    /// Of ops that the device is through with, since all ranks met.
    void settleChecks();
    /// One op, or both of an overlapped pair: they begin together, when the inputs of both are there, and
    /// end together. Their maths is done in the order of the list; each output is sent when it exists.
    void runTogether(std::span<const Op> ops);
    /// As runTogether() goes on where the rank has a device: nothing here waits for it.
    void queueTogether(std::span<const Op> ops, TimeNs nominal, Arrivals inputs);
    void runOptimizer();
    /// When the rank is through with what it has begun; waits for its device.
    [[nodiscard]] TimeNs freeAt();
    [[nodiscard]] std::optional<TimeNs> paced(TimeNs nominal) const;
    void endStep();

    /// Does what is planted before the ops; does not come back where that is death.
    void meetFaults(std::span<const Op> ops);
    [[noreturn]] void hang();
    /// With what faults add to it.
    [[nodiscard]] TimeNs nominalTime(std::span<const Op> ops) const;
    /// Where ops take the host's time, faults take it too: waits until work that began then has taken long enough.
    void stretch(std::span<const Op> ops, TimeNs began, TimeNs nominal);

    /// The data from the neighbouring stage; waits for it. Nothing where the op needs none.
    [[nodiscard]] std::optional<Arrival> receiveInput(const Op& op);
    [[nodiscard]] Arrival receive(const Op& op, Rank from, const MessageKey& key);
    /// When a message can be used that the wires handed out.
    [[nodiscard]] TimeNs arrivalOf(const Taken& taken, Rank from);
    /// Takes the tensor out of the input.
    [[nodiscard]] Tensor compute(const Op& op, std::optional<Arrival>& input);
    void sendOutput(const Op& op, Message message);
    /// Hands the rank's gradients to the copies of its stages and adds theirs, if there are any: by chunk, the sums
    /// of all. `ready` grows to when the last of them is there.
    [[nodiscard]] std::vector<Tensor> sumGradients(const Op& op, TimeNs& ready);
    [[nodiscard]] Tensor sumOfCopies(const Op& op, Stage stage, Tensor own, TimeNs& ready);
    /// Holds the rank until the ops have ended, then records them; they waited for sums for `exposed`.
    void holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end,
                       TimeNs exposed);

    /// Tells the ranks that share the rank's stages, if there are any, that sums inside these ops follow.
    void beginSums(std::span<const Op> ops, TimeNs begin, TimeNs nominal);
    [[nodiscard]] int sumsIn(std::span<const Op> ops);
    /// What sums have added to ops of a nominal time.
    [[nodiscard]] TimeNs withSums(TimeNs nominal) const;
    void recordSums(const Op& op, std::size_t first);

    void countOps(std::size_t ops);
    void noteMemory();
    void noteLoss(Stage stage);
    [[nodiscard]] Activity activity(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) const;
    void report(Activity::Kind kind, const Op& op = {}, Rank peer = {}, TimeNs due = TimeNs{0}) {
        wires_.report(activity(kind, op, peer, due));
    }
    [[nodiscard]] bool checks() const { return checker_ && checker_->checks(); }
    [[nodiscard]] StageModel& model(Stage stage) { return *state_.stages[lane_][stage.index()]; }
    void checkStop();
    [[nodiscard]] TimeNs meet(TimeNs time);
    [[nodiscard]] std::string place() const;

    RunState& state_;
    const Schedule& schedule_;
    Transport& wires_;
    MeshPlace place_;
    std::size_t lane_; ///< see RunMesh::laneOf()
    Wiring wiring_;
    std::vector<Expected> expected_; ///< in a step
    DeviceClock clock_;
    RankFaults faults_;
    RankRecord record_;
    std::optional<DeviceOps> device_;      ///< none = the host
    std::optional<TensorGroup> sums_;      ///< none = stages are whole
    bool ends_steps_;                      ///< calls after_step
    std::vector<BubblePlace> bubbles_;     ///< empty without a hook
    std::size_t next_bubble_ = 0;          ///< in this step
    std::size_t index_ = 0;                ///< of the op at hand in the rank's list
    std::unique_ptr<RankChecker> checker_; ///< null where nothing is checked, and nothing planted inside layers
    int step_ = 0;
    std::optional<Op> current_; ///< for messages about failures
    RankCounts counts_;
};

} // namespace bubblescope::runtime
