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
    TimeNs ready{0}; ///< arrival of the last message that the op needed; 0 if it needed no message
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
    /// True if all inputs that the rank is waiting for have arrived; false if this is unknown.
    [[nodiscard]] virtual bool arrived() = 0;
    /// Does the work and returns its start and end. On an emulated clock the work takes its nominal time, which may be
    /// 0; otherwise it takes the measured time.
    virtual std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) = 0;
    /// The load that other ranks put on the machine; nothing if unknown.
    [[nodiscard]] virtual std::optional<HostLoad> load() const { return {}; }
    /// Yields the core to other threads for a while.
    virtual void nap(TimeNs /*time*/) {}
    /// True if work takes its nominal time instead of the time measured on the host.
    [[nodiscard]] virtual bool emulates() const = 0;
};

/// The extension point in a rank's training loop: it observes the rank's results and messages, and may work in the
/// rank's bubbles. The engine does not depend on implementations. All calls come from the rank's thread; an exception
/// ends the run with an error that names the rank. Times are on the rank's device clock.
///
/// A bubble is identified by the index, in the rank's list, of the op that ends it; the length of the list identifies
/// the bubble after the last op.
class RankHook : public LayerWatch {
public:
    /// Called before watch() if the rank computes on this device instead of the host.
    virtual void useDevice(RankQueue& /*device*/) {}
    /// Passes the rank's stages before the first step. The stages outlive the hook's last call.
    virtual void watch(std::vector<std::pair<Stage, StageModel*>> /*stages*/) {}

    virtual void beginStep(int /*step*/, TimeNs /*begin*/) {}
    /// Called when an op begins; calls for its layers follow.
    virtual void beginOp(const Op& /*op*/, Stage /*stage*/, TimeNs /*begin*/) {}
    /// Returns a number; ops with the same number queue the same work on a device.
    [[nodiscard]] virtual std::uint64_t variantOf(std::span<const Op> /*ops*/) const { return 0; }

    /// Passes the output of the most recent op, before it is sent. Not called for an op without output.
    virtual void sending(Message& /*message*/) {}
    /// Called on a device when all work of the op, or of both ops of a pair, is queued; outputs have been passed.
    virtual void opsComputed() {}
    /// Passes the gradients of a stage, before they are sent to its copies.
    virtual void sendingGradients(Stage /*stage*/, Message& /*message*/) {}
    /// Passes an op's input after it was received from another rank. `arrival` describes the message, whose tensor was
    /// moved out.
    virtual void received(const Op& /*op*/, Stage /*stage*/, Tensor& /*tensor*/, const Arrival& /*arrival*/) {}
    /// Passes the gradients received from a copy of the stage.
    virtual void receivedGradients(Stage /*stage*/, Arrival& /*arrival*/) {}
    /// Called when the optimizer has written all weights of the rank.
    virtual void weightsWritten() {}

    /// True if the hook works in bubbles. Otherwise none of the functions below is called.
    [[nodiscard]] virtual bool fillsBubbles() const { return false; }
    /// True if the hook works in the bubbles of the current step. Otherwise only onStepEnd() and inputsReady() are
    /// called in the step.
    [[nodiscard]] virtual bool active() const { return false; }
    /// Passes the start of the current step if it is known only to the rank's device.
    virtual void stepBegan(TimeNs /*begin*/) {}
    /// The start of the current step, as passed to the hook.
    [[nodiscard]] virtual TimeNs stepBegin() const { return TimeNs{0}; }
    /// Minimum time from the start of the step to the start of the op at `index`; nothing if the op is not delayed.
    [[nodiscard]] virtual std::optional<TimeNs> heldSinceStep(std::size_t /*index*/) const { return {}; }

    [[nodiscard]] virtual bool hasWork(std::size_t /*index*/) const { return false; }
    /// Called when the rank is idle until the op at `index` can begin.
    virtual void onIdle(std::size_t /*index*/, IdleClock& /*clock*/) {}
    /// Passes the time at which all inputs of the op at `index` had arrived. On a device, the time is known only at the
    /// end of the step, and is also passed for steps in which the hook does not work. `idle_since` is then the start of
    /// the bubble before the op.
    virtual void inputsReady(std::size_t /*index*/, TimeNs /*ready*/, std::optional<TimeNs> /*idle_since*/) {}
    /// Called when the rank's device has finished these ops, and all ranks have reached a barrier since then. The hook
    /// may still do work.
    virtual void onOpsDone(std::span<const DoneOp> /*done*/, IdleClock& /*clock*/) {}

    /// Called after the optimizer of every step, when all ranks have reached the barrier.
    virtual void onStepEnd() {}
    /// Called after the last step, when all ranks have reached the barrier. Completes pending work, and may wait for
    /// other ranks.
    virtual void drain() {}
    /// Called when the rank's loop ends, either after drain() or early. Abandons pending work. Does not wait for other
    /// ranks.
    virtual void abandon() {}
};

/// A rank, as passed to the function that creates its hook. References outlive the hook.
struct RankContext {
    const Schedule& schedule;
    const CostModel& times; ///< nominal
    const RankFaults& faults;
    Rank world; ///< global rank in the run
    const RunMesh& mesh;
    MeshPlace place;
    profiler::RecordRing* ring;     ///< destination of the rank's records; null = none
    const std::atomic<bool>& ended; ///< true if the run has ended early
};

/// Creates a rank's hook before its thread starts.
using AttachHook = std::function<std::shared_ptr<RankHook>(const RankContext&)>;

} // namespace bubblescope::runtime
