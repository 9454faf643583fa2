#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "runtime/comm/comm_topology.h"
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

// How other work attaches to a rank of the training loop: one interface for what the rank computes and exchanges, one
// for the time in which it has nothing to do. The engine knows neither who implements them nor what for.

namespace bubblescope::profiler {
class RecordRing;
}

namespace bubblescope::runtime {

class RankDevice;
class StageModel;
struct Arrival;

/// An op that a device has finished.
struct DoneOp {
    Op op;
    TimeNs ready{0}; ///< when the last message that it needed was there; 0 if it needed none
    TimeNs begin{0};
};

/// Sees what a rank computes and exchanges, step by step. All calls come from the rank's thread; an exception ends the
/// run with an error that names the rank. Times are those of the rank's device clock.
class LayerHook : public LayerWatch {
public:
    /// The rank computes on this device, not on the host. Before watch().
    virtual void useDevice(RankDevice& /*device*/) {}
    /// The rank's stages, before the first step. They outlive the hook's last call.
    virtual void watch(std::vector<std::pair<Stage, StageModel*>> /*stages*/) {}

    virtual void beginStep(int /*step*/, TimeNs /*begin*/) {}
    /// An op begins; its layers follow.
    virtual void beginOp(const Op& /*op*/, Stage /*stage*/, TimeNs /*begin*/) {}
    /// Ops with equal numbers queue the same work on a device.
    [[nodiscard]] virtual std::uint64_t variantOf(std::span<const Op> /*ops*/) const { return 0; }

    /// What the op that ran last hands on, before it is sent. Not called where it hands on nothing.
    virtual void sending(Message& /*message*/) {}
    /// The gradients of a stage that its copies are sent.
    virtual void sendingGradients(Stage /*stage*/, Message& /*message*/) {}
    /// The input of an op that came from another rank, with the arrival that brought it, whose tensor is moved out.
    virtual void received(const Op& /*op*/, Stage /*stage*/, Tensor& /*tensor*/, const Arrival& /*arrival*/) {}
    /// The gradients of a copy of the stage.
    virtual void receivedGradients(Stage /*stage*/, Arrival& /*arrival*/) {}
    /// The optimizer has written all weights of the rank.
    virtual void weightsWritten() {}
};

/// Time in which a rank is idle, on the clock of its device.
class IdleClock {
public:
    IdleClock() = default;
    IdleClock(const IdleClock&) = delete;
    IdleClock& operator=(const IdleClock&) = delete;
    virtual ~IdleClock() = default;

    [[nodiscard]] virtual TimeNs now() const = 0;
    /// Whether all that the rank waits for is there by now. False where that cannot be known.
    [[nodiscard]] virtual bool arrived() = 0;
    /// Does the work; returns its begin and end. Where the clock emulates, the work takes its nominal time, which may
    /// be 0; else the time that it really takes.
    virtual std::pair<TimeNs, TimeNs> spend(TimeNs nominal, const std::function<void()>& work) = 0;
    /// Whether work takes its nominal time, not the host's.
    [[nodiscard]] virtual bool emulates() const = 0;
};

/// Works in a rank's bubbles. A bubble is named by the index of the op in the rank's list that ends it; the list's size
/// names the one behind the last op. All calls come from the rank's thread, as those of LayerHook do.
class IdleHook {
public:
    IdleHook() = default;
    IdleHook(const IdleHook&) = delete;
    IdleHook& operator=(const IdleHook&) = delete;
    virtual ~IdleHook() = default;

    /// Whether the hook works in the current step. Where not, onStepEnd() is the only function called in it.
    [[nodiscard]] virtual bool active() const = 0;
    /// When the current step began, where only the rank's device knows.
    virtual void stepBegan(TimeNs begin) = 0;
    /// The same as the hook knows it.
    [[nodiscard]] virtual TimeNs stepBegin() const = 0;
    /// How long after the step's begin the op at `index` is held back at least; nothing where it is not.
    [[nodiscard]] virtual std::optional<TimeNs> heldSinceStep(std::size_t index) const = 0;

    [[nodiscard]] virtual bool hasWork(std::size_t index) const = 0;
    /// The rank is idle until the op at `index` can begin.
    virtual void onIdle(std::size_t index, IdleClock& clock) = 0;
    /// When all that the op at `index` waited for was there.
    virtual void inputsReady(std::size_t index, TimeNs ready) = 0;
    /// The rank's device has finished these ops, and all ranks have met since. Work may still be done.
    virtual void onOpsDone(std::span<const DoneOp> done, IdleClock& clock) = 0;

    /// Behind the optimizer of every step, when all ranks have met.
    virtual void onStepEnd() = 0;
    /// Behind the last step, when all ranks have met: finishes what is open, and may wait for other ranks.
    virtual void drain() = 0;
    /// The rank's loop ends, after drain() or early: gives up what is open. Waits for nobody.
    virtual void abandon() = 0;
};

/// A rank as a hook's maker sees it. References outlive the hook.
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

/// What attaches to a rank; either may be null, and one object may be both.
struct RankHooks {
    std::shared_ptr<LayerHook> layers;
    std::shared_ptr<IdleHook> idle;
};

/// Makes a rank's hooks, before its thread starts.
using AttachHooks = std::function<RankHooks(const RankContext&)>;

} // namespace bubblescope::runtime
