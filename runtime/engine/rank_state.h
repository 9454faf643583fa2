#pragma once

#include "runtime/clock/device_clock.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/engine/activation_moves.h"
#include "runtime/engine/device_ops.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rank_hook.h"
#include "runtime/engine/rank_record.h"
#include "runtime/engine/tensor_group.h"
#include "runtime/faults/rank_faults.h"
#include "runtime/model/data_plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The order of a run, which may change between steps. Thread-safe.
class CurrentOrder {
public:
    struct Version : RunOrder {
        explicit Version(RunOrder order)
            : RunOrder(std::move(order)), graph(dispatch.dynamic() ? std::optional<OpGraph>(schedule) : std::nullopt) {}
        std::optional<OpGraph> graph; ///< set if ranks choose their ops
    };

    explicit CurrentOrder(RunOrder first) : now_(std::make_shared<const Version>(std::move(first))) {}

    /// The order of a step. Each rank calls this before it begins the step.
    [[nodiscard]] std::shared_ptr<const Version> of(int step) {
        const std::lock_guard lock(mutex_);
        if (next_ && step >= from_) now_ = std::exchange(next_, nullptr);
        return now_;
    }
    /// Must be called before any rank calls of() for step `from` or a later step.
    void set(int from, RunOrder order) {
        auto version = std::make_shared<const Version>(std::move(order));
        const std::lock_guard lock(mutex_);
        next_ = std::move(version);
        from_ = from;
    }

private:
    std::mutex mutex_;
    std::shared_ptr<const Version> now_;
    std::shared_ptr<const Version> next_;
    int from_ = 0;
};

/// State shared by the ranks of a run that this process executes.
struct RunState {
    RunState(const EngineConfig& engine_config, const EngineParts& engine_parts, JobControl& job_control);

    /// Number of ops that the ranks of this process execute in a step with this order, including optimizers.
    [[nodiscard]] std::uint64_t opsOfStep(const Schedule& schedule) const;

    const EngineConfig& config;
    const EngineParts& parts;
    const RunMesh mesh;
    const DataPlan plan;
    CurrentOrder order;
    /// The latest even step and the latest odd step as executed by ranks of the first replica, for
    /// EngineParts::next_order. Each rank writes its own lists. There are two lists, because other ranks begin a step
    /// while the first rank still reads the lists of the previous step.
    std::array<StepTimeline, 2> observed;
    JobControl& control;
    /// The number of the last step plus one. If the run must end early, a rank that enters a step makes that step the
    /// last one. No rank can be in a later step, because all ranks meet at the end of a step and read this value before
    /// they continue.
    std::atomic<int> steps;
    std::vector<std::vector<double>> losses; ///< see EngineResult; written by the ranks of the last stages
    std::vector<std::vector<std::unique_ptr<StageModel>>> stages; ///< see EngineResult; each stage is written by its
                                                                  ///< rank
};

struct RankCounts {
    std::int64_t ops = 0;
    std::int64_t late_ops = 0;
    TimeNs max_lateness{0};
    MemoryUse memory; ///< memory use when the rank's total peaked
};

/// State shared by the parts of one rank's loop. For the rank's thread.
struct RankState {
    /// `local` is the index of the rank among the ranks of this process.
    RankState(RunState& run_state, std::size_t local);
    RankState(const RankState&) = delete;
    RankState& operator=(const RankState&) = delete;

    RunState& run;
    const EngineConfig& config;
    const EngineParts& parts;
    const Schedule& schedule;
    Transport& transport;
    const MeshPlace place;
    const CommTopology topology;
    DeviceClock clock;
    RankFaults faults;
    const ActivationMoves moves;
    RankRecord record;
    std::shared_ptr<const CurrentOrder::Version> order; ///< of the current step
    std::optional<TensorGroup> sums;                    ///< none = stages are not shared
    std::optional<DeviceOps> device;                    ///< none = the host; opened on the rank's thread
    std::shared_ptr<RankHook> hook;                     ///< null = no hook observes the rank

    int step = 0;
    std::optional<Op> current; ///< for error messages
    RankCounts counts;

    /// True if there is a hook that works in bubbles.
    [[nodiscard]] bool fillsBubbles() const { return hook && hook->fillsBubbles(); }
    /// The rank's list of ops.
    [[nodiscard]] std::span<const Op> ops() const { return order->schedule.ranks[place.rank.index()]; }
    /// Fetches the order of step `step`, and begins to record the step for EngineParts::next_order.
    void beginStep();
    /// The time at which the rank can begin its next op; on the host's clock if ops are timed on the host.
    [[nodiscard]] TimeNs now() const {
        return clock.paced() && !device ? clock.freeAt() : std::max(clock.freeAt(), parts.clock.now());
    }
    /// The op before `index` in the list; before the first op, an op without a position.
    [[nodiscard]] Op lastOp(std::size_t index) const { return index == 0 ? Op{} : ops()[index - 1]; }
    /// The number of ops starting at `index` in the list that run as one: two for an overlapped pair.
    [[nodiscard]] std::size_t togetherFrom(std::size_t index) const;
    /// How long a device is kept busy; nothing if work is not prolonged.
    [[nodiscard]] std::optional<TimeNs> paced(TimeNs nominal) const {
        return clock.paced() && nominal > TimeNs{0} ? std::optional(nominal) : std::nullopt;
    }
    [[nodiscard]] Activity activity(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) const;
    void report(Activity::Kind kind, const Op& op = {}, Rank peer = {}, TimeNs due = TimeNs{0}) {
        transport.report(activity(kind, op, peer, due));
    }
    /// Description of the rank and its current op, for messages.
    [[nodiscard]] std::string description() const;
};

/// The stages that a rank holds. For the rank's thread.
class RankStages {
public:
    /// `rank` must outlive the object.
    explicit RankStages(RankState& rank) : rank_(rank) {}

    /// Creates the stages, on the rank's device if it has one, and passes them to the layer hook.
    void build();
    /// On a device, runs the ops of a step once on dummy input (see StageModel::rehearse()), without recording times
    /// and without transfers between ranks.
    void rehearse();

    [[nodiscard]] StageModel& at(Stage stage);
    /// Runs the op on its input and returns its output. Injects faults into the input and the output.
    [[nodiscard]] Tensor compute(const Op& op, std::optional<Arrival>& input);
    /// Offloads, reloads or recomputes activations.
    void move(const Action& action);
    /// Number of times that these ops sum over the ranks that share the stages.
    [[nodiscard]] int sumsIn(std::span<const Op> ops);

    /// Stores the current memory use if it is the largest so far.
    void sampleMemory();
    /// Takes the losses since the last update from the rank's stages, and stores them for this update of the step.
    void takeLosses(int update);

private:
    RankState& rank_;
};

} // namespace bubblescope::runtime
