#pragma once

#include "runtime/checks/check_setup.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// Where the slots of a rank's plan lie in its list of ops, and when each is going to end. Times count from a step's
/// begin.
class SlotSchedule {
public:
    SlotSchedule(const CheckSetup& setup, const Schedule& schedule, Rank rank);

    /// As the plan numbers them.
    [[nodiscard]] std::size_t size() const { return slots_.size(); }
    /// Index of the op that ends the slot; the list's size behind the last op.
    [[nodiscard]] std::size_t endsBefore(std::size_t slot) const { return slots_[slot].before; }
    [[nodiscard]] bool hasSlotBefore(std::size_t index) const;

    /// When the op at `index` may begin at the earliest, where the plan holds ops back.
    [[nodiscard]] std::optional<TimeNs> held(std::size_t index) const {
        return index < holds_.size() ? holds_[index] : std::nullopt;
    }
    /// In a step all that the op at `index` waits for was there at this time.
    void ended(std::size_t index, TimeNs time);
    /// By the ends of the last steps. `emulated`: ops keep to the plan's times, which count until there are any; else
    /// nothing where too few ends are known.
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
