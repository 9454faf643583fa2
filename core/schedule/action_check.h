#pragma once

#include "core/base/sentence.h"
#include "core/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A problem with a rank's actions other than ops.
struct ActionProblem {
    std::string_view kind; ///< "transfer", "wait", "weights" or "activations"
    Rank rank;
    std::size_t action = 0; ///< index in the rank's list
    Sentence message;
    std::string hint;
};

/// An index of sends, receives and ops by the data that they transfer or compute. Linear in the number of actions.
class TransferEnds {
public:
    struct Place {
        Rank rank;
        std::int32_t action = -1; ///< -1 if there is none
        [[nodiscard]] bool found() const { return action >= 0; }
    };

    explicit TransferEnds(const LoweredSchedule& lowered);

    /// The first send and the first receive of a transfer.
    [[nodiscard]] const Place& send(Payload payload, Stage consumer, Microbatch m) const {
        return sends_[slot(payload, consumer, m)];
    }
    [[nodiscard]] const Place& receive(Payload payload, Stage consumer, Microbatch m) const {
        return receives_[slot(payload, consumer, m)];
    }
    /// The action that contains the F of a stage, or its B or I.
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

/// Reports every transfer with an end that is missing or on the wrong side of its op, every wait without a send, and
/// every op whose weights were not gathered. PyTorch does not check most of this, so the job would hang or fail. If a
/// file contains no actions of some kind, the program that runs it inserts them: a list without sends and receives,
/// without waits, or without UNSHARD is not a problem. Sorted by rank and by action. Linear in the number of actions.
[[nodiscard]] std::vector<ActionProblem> checkActions(const LoweredSchedule& lowered);

} // namespace bubblescope
