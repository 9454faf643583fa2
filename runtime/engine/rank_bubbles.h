#pragma once

#include "runtime/engine/rank_state.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// The work of a rank in its bubbles: calls the bubble hook and the rank's hook. A bubble is identified by the index,
/// in the rank's list, of the op that ends it. For the rank's thread.
class RankBubbles {
public:
    /// `rank` must outlive the object.
    explicit RankBubbles(RankState& rank);

    /// Begins a step, also on the rank's device.
    void beginStep();
    /// Call this when the rank has sent everything before the op at `index` and is about to wait for that op's input.
    void before(std::size_t index);
    /// Reports that all inputs of the op at `index` had arrived at `ready`, which is 0 if the op has no inputs.
    void inputsReady(std::size_t index, TimeNs ready);
    /// Call this when all ranks have reached the barrier after the step's ops, at time `met`.
    void opsDone(TimeNs met);
    /// Call this when all ranks have reached the barrier after the optimizer.
    void optimizerDone();

    /// The earliest start of the op at `index`: relative to the start of the step, or as a time. Nothing if the op is
    /// not delayed.
    [[nodiscard]] std::optional<TimeNs> heldSinceStep(std::size_t index) const;
    [[nodiscard]] std::optional<TimeNs> heldUntil(std::size_t index) const;

private:
    class HostIdleClock;
    class DeviceIdleClock;

    /// True if a hook works in the current step's bubbles.
    [[nodiscard]] bool works() const { return rank_.fillsBubbles() && rank_.hook->active(); }
    void callBubbleHook(std::size_t index);
    /// On a device: lets the hook do the work that it had to postpone until the ops had finished.
    void settle();
    void work(std::size_t index);
    /// Publishes that the rank is waiting; see Transport::report().
    void reportIdle(std::size_t index);
    /// True if `there` is true for all inputs of the ops that run at `index`, and the ops are not delayed beyond `now`.
    template <class There>
    [[nodiscard]] bool allThere(std::size_t index, TimeNs now, bool held_counts, const There& there) const;

    RankState& rank_;
    std::vector<BubblePlace> bubbles_; ///< empty without a bubble hook
    std::size_t next_bubble_ = 0;      ///< in this step
};

} // namespace bubblescope::runtime
