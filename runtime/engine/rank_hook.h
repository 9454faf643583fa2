#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/comm/transport.h"
#include "runtime/faults/rank_faults.h"
#include "runtime/model/layer_watch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::profiler {
class RecordRing;
}

namespace bubblescope::runtime {

class RankQueue;
class StageModel;
struct Arrival;

/// An op that a device has finished.
struct DoneOp {
    Op op;
    TimeNs ready{0}; ///< arrival of the last message that it needed; 0 if it needed none
    TimeNs begin{0};
    TimeNs end{0};
};

/// The idle time of a rank, on the clock of its device.
class IdleClock {
public:
    IdleClock() = default;
    IdleClock(const IdleClock&) = delete;
    IdleClock& operator=(const IdleClock&) = delete;
    virtual ~IdleClock() = default;

    [[nodiscard]] virtual TimeNs now() const = 0;
    /// Whether all inputs that the rank waits for have arrived. False if that cannot be known.
    [[nodiscard]] virtual bool arrived() = 0;
    /// Does the work, and returns its begin and end. If the clock emulates, the work takes its nominal time, which may
    /// be 0; otherwise its real time.
    virtual std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) = 0;
    /// How busy other ranks keep the machine; nothing if that is unknown.
    [[nodiscard]] virtual std::optional<HostLoad> load() const { return {}; }
    /// Leaves the core to others for a while.
    virtual void nap(TimeNs /*time*/) {}
    /// Whether work takes its nominal time, not the host's.
    [[nodiscard]] virtual bool emulates() const = 0;
};

/// The extension point of a rank of the training loop: observes what the rank computes and exchanges, and may work in
/// its bubbles. The engine does not depend on implementations. All calls come from the rank's thread; an exception ends
/// the run with an error that names the rank. Times are on the rank's device clock.
///
/// A bubble is identified by the index of the op in the rank's list that ends it; the size of the list identifies the
/// bubble after the last op.
class RankHook : public LayerWatch {
public:
    /// The rank computes on this device, not on the host. Called before watch().
    virtual void useDevice(RankQueue& /*device*/) {}
    /// The rank's stages, before the first step. They outlive the hook's last call.
    virtual void watch(std::vector<std::pair<Stage, StageModel*>> /*stages*/) {}

    virtual void beginStep(int /*step*/, TimeNs /*begin*/) {}
    /// An op begins; calls for its layers follow.
    virtual void beginOp(const Op& /*op*/, Stage /*stage*/, TimeNs /*begin*/) {}
    /// Ops with equal numbers queue the same work on a device.
    [[nodiscard]] virtual std::uint64_t variantOf(std::span<const Op> /*ops*/) const { return 0; }

    /// The output of the op that ran last, before it is sent. Not called for an op without output.
    virtual void sending(Message& /*message*/) {}
    /// The gradients of a stage, before they are sent to its copies.
    virtual void sendingGradients(Stage /*stage*/, Message& /*message*/) {}
    /// The input of an op that was received from another rank. `arrival` describes the message; its tensor was moved
    /// out.
    virtual void received(const Op& /*op*/, Stage /*stage*/, Tensor& /*tensor*/, const Arrival& /*arrival*/) {}
    /// The gradients received from a copy of the stage.
    virtual void receivedGradients(Stage /*stage*/, Arrival& /*arrival*/) {}
    /// The optimizer has written all weights of the rank.
    virtual void weightsWritten() {}

    /// Whether the hook works in bubbles. If not, none of the functions below is called.
    [[nodiscard]] virtual bool fillsBubbles() const { return false; }
    /// Whether it does so in the current step. If not, only onStepEnd() and inputsReady() are called in it.
    [[nodiscard]] virtual bool active() const { return false; }
    /// The begin of the current step, if only the rank's device has it.
    virtual void stepBegan(TimeNs /*begin*/) {}
    /// The begin of the current step as the hook knows it.
    [[nodiscard]] virtual TimeNs stepBegin() const { return TimeNs{0}; }
    /// The least time from the begin of the step to that of the op at `index`; nothing if the op is not held back.
    [[nodiscard]] virtual std::optional<TimeNs> heldSinceStep(std::size_t /*index*/) const { return {}; }

    [[nodiscard]] virtual bool hasWork(std::size_t /*index*/) const { return false; }
    /// The rank is idle until the op at `index` can begin.
    virtual void onIdle(std::size_t /*index*/, IdleClock& /*clock*/) {}
    /// The time at which all inputs of the op at `index` had arrived. On a device, where only the end of the step shows
    /// it, also of steps in which the hook does not work; then `idle_since` is when the bubble before the op began.
    virtual void inputsReady(std::size_t /*index*/, TimeNs /*ready*/, std::optional<TimeNs> /*idle_since*/) {}
    /// The rank's device has finished these ops, and all ranks have met since. Work may still be done.
    virtual void onOpsDone(std::span<const DoneOp> /*done*/, IdleClock& /*clock*/) {}

    /// Called after the optimizer of every step, when all ranks have met.
    virtual void onStepEnd() {}
    /// Called after the last step, when all ranks have met: completes pending work, and may wait for other ranks.
    virtual void drain() {}
    /// Called when the rank's loop ends, after drain() or early: abandons pending work. Waits for no rank.
    virtual void abandon() {}
};

/// A rank, as passed to the maker of its hook. References outlive the hook.
struct RankContext {
    const Schedule& schedule;
    const CostModel& times; ///< nominal
    const RankFaults& faults;
    Rank world; ///< in the whole run
    const RunMesh& mesh;
    MeshPlace place;
    profiler::RecordRing* ring;     ///< where the rank records; null = nowhere
    const std::atomic<bool>& ended; ///< true once the run has ended early
};

/// Makes a rank's hook, before its thread starts.
using AttachHook = std::function<std::shared_ptr<RankHook>(const RankContext&)>;

} // namespace bubblescope::runtime
