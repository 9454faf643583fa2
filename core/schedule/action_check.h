#pragma once

#include "core/base/sentence.h"
#include "core/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// A problem with a rank's actions other than computing.
struct ActionProblem {
    std::string_view kind; ///< transfer, wait, weights or activations
    Rank rank;
    std::size_t action = 0; ///< index in the rank's list
    Sentence message;
    std::string hint;
};

/// Indexes sends, receives and ops by what they carry. Linear in actions.
class TransferEnds {
public:
    struct Place {
        Rank rank;
        std::int32_t action = -1; ///< -1: there is none
        [[nodiscard]] bool found() const { return action >= 0; }
    };

    explicit TransferEnds(const LoweredSchedule& lowered);

    /// The first send of a transfer, and its first receive.
    [[nodiscard]] const Place& send(Payload payload, Stage consumer, Microbatch m) const {
        return sends_[slot(payload, consumer, m)];
    }
    [[nodiscard]] const Place& receive(Payload payload, Stage consumer, Microbatch m) const {
        return receives_[slot(payload, consumer, m)];
    }
    /// The action that contains a stage's F, or its B or I.
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

/// Reports every transfer with a missing end or on the wrong side of its op, every wait without a send, and every op on
/// weights that were not gathered. PyTorch does not check most of this; the job hangs or fails. If a file has no
/// actions of a kind, its runner inserts them: a list without sends and receives, without waits, or without UNSHARD has
/// no problem of that kind. Sorted by rank and action. Linear.
[[nodiscard]] std::vector<ActionProblem> checkActions(const LoweredSchedule& lowered);

} // namespace bubblescope
