#pragma once

#include "core/base/sentence.h"
#include "core/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// One thing that is wrong with what a rank does besides computing.
struct ActionProblem {
    std::string_view kind; ///< transfer, wait or weights
    Rank rank;
    std::size_t action = 0; ///< in the rank's list
    Sentence message;
    std::string hint;
};

/// Sends, receives and ops by what they carry. Linear in actions.
class TransferEnds {
public:
    struct Place {
        Rank rank;
        std::int32_t action = -1; ///< -1: there is none
        [[nodiscard]] bool found() const { return action >= 0; }
    };

    explicit TransferEnds(const LoweredSchedule& lowered);

    /// The first of a transfer's sends, and of its receives.
    [[nodiscard]] const Place& send(Payload payload, Stage consumer, Microbatch m) const {
        return sends_[slot(payload, consumer, m)];
    }
    [[nodiscard]] const Place& receive(Payload payload, Stage consumer, Microbatch m) const {
        return receives_[slot(payload, consumer, m)];
    }
    /// The action with F, or with B or I, of a stage.
    [[nodiscard]] const Place& compute(Payload payload, Stage stage, Microbatch m) const {
        return computes_[slot(payload, stage, m)];
    }
    /// False for stages and micro-batches that do not exist.
    [[nodiscard]] bool inRange(Stage stage, Microbatch m) const {
        return stage.value >= 0 && stage.value < stages_ && m.value >= 0 && m.value < microbatches_;
    }

private:
    [[nodiscard]] std::size_t slot(Payload payload, Stage stage, Microbatch m) const {
        const auto half = static_cast<std::size_t>(payload == Payload::Activation ? 0 : 1);
        return (half * static_cast<std::size_t>(stages_) + stage.index()) * static_cast<std::size_t>(microbatches_) +
               m.index();
    }
    void take(const LoweredSchedule& lowered, Rank rank, std::int32_t index);

    int stages_;
    int microbatches_;
    std::vector<Place> sends_;
    std::vector<Place> receives_;
    std::vector<Place> computes_;
};

/// Every transfer that lacks an end or stands on the wrong side of its op, every wait without a send, every op on
/// weights that were not gathered. PyTorch does not check most of it; the job hangs or fails. What a file has none of,
/// its runner does: a list without sends and receives, without waits or without UNSHARD has no problem of that kind.
/// By rank and action. Linear.
[[nodiscard]] std::vector<ActionProblem> checkActions(const LoweredSchedule& lowered);

} // namespace bubblescope
