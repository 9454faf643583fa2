#pragma once

#include "runtime/engine/rank_state.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// What a rank does in its bubbles: calls of the bubble hook, and what the idle hook does. A bubble is named by the
/// index of the op in the rank's list that ends it. For the rank's thread.
class RankBubbles {
public:
    /// `rank` must outlive it.
    explicit RankBubbles(RankState& rank);

    /// A step begins, on the rank's device too.
    void beginStep();
    /// The rank has handed on everything before the op at `index`, and waits for it.
    void before(std::size_t index);
    /// All that the op at `index` waited for was there at `ready`; 0 where it waited for nothing.
    void inputsReady(std::size_t index, TimeNs ready);
    /// All ranks have met since the device has finished some ops.
    void opsDone();

    /// How long after the step's begin, or when, the op at `index` may begin at the earliest; nothing where it is not
    /// held back.
    [[nodiscard]] std::optional<TimeNs> heldSinceStep(std::size_t index) const;
    [[nodiscard]] std::optional<TimeNs> heldUntil(std::size_t index) const;

private:
    class HostIdleClock;
    class DeviceIdleClock;

    /// Whether there is an idle hook that works in the current step.
    [[nodiscard]] bool works() const { return rank_.hooks.idle && rank_.hooks.idle->active(); }
    void callBubbleHook(std::size_t index);
    void work(std::size_t index);
    /// Whether `there` holds for the inputs of all ops that run at `index`, and the op is not held back at `now`.
    template <class There>
    [[nodiscard]] bool allThere(std::size_t index, TimeNs now, bool held_counts, const There& there) const;

    RankState& rank_;
    std::vector<BubblePlace> bubbles_; ///< empty without a bubble hook
    std::size_t next_bubble_ = 0;      ///< in this step
};

} // namespace bubblescope::runtime
