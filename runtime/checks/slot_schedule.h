#pragma once

#include "runtime/checks/check_setup.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// The positions of the slots of a rank's plan in its list of ops, and the predicted ends. Times are relative to the
/// begin of the step.
class SlotSchedule {
public:
    SlotSchedule(const CheckSetup& setup, const Schedule& schedule, Rank rank);

    /// The number of slots, in the order of the plan.
    [[nodiscard]] std::size_t size() const { return slots_.size(); }
    /// Index of the op that ends the slot; the size of the list after the last op.
    [[nodiscard]] std::size_t endsBefore(std::size_t slot) const { return slots_[slot].before; }
    [[nodiscard]] bool hasSlotBefore(std::size_t index) const;

    /// The earliest begin of the op at `index`, if the plan holds ops back.
    [[nodiscard]] std::optional<TimeNs> held(std::size_t index) const {
        return index < holds_.size() ? holds_[index] : std::nullopt;
    }
    /// Records that in a step all inputs of the op at `index` had arrived at `time`.
    void ended(std::size_t index, TimeNs time);
    /// The end of a slot according to the last steps. `emulated`: ops take the plan's times, which are used until ends
    /// are known; otherwise the result is empty while too few ends are known.
    [[nodiscard]] std::optional<TimeNs> predictedEnd(std::size_t slot, bool emulated) const;

private:
    struct PlacedSlot {
        std::size_t before = 0;
        TimeNs end{0};           ///< planned
        std::deque<TimeNs> seen; ///< the last ends
    };

    std::vector<PlacedSlot> slots_;
    std::vector<std::optional<TimeNs>> holds_; ///< by index
};

} // namespace bubblescope::runtime
