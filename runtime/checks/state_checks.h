#pragma once

#include "runtime/checks/check_context.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope::runtime {

/// Checks what must not change, or is known beforehand: weights between optimizer steps, transfers, copies of a
/// stage, and computations with known answers. For the rank's thread.
class StateChecks {
public:
    /// `context` must outlive it.
    explicit StateChecks(CheckContext& context) : context_(context) {}

    /// Notes the digests of all weights.
    void weightsWritten();
    /// In a slot that is going to end at `end`. What does not fit is recorded as skipped.
    void checkWeights(TimeNs end, IdleClock& clock);
    void checkKnownAnswers(TimeNs end, IdleClock& clock);

    /// Adds digests to what is sent; `output` is the op's result where a layer has shown it.
    void sign(const std::optional<ShownTensor>& output, Message& message) const;
    void signGradients(Stage stage, Message& gradients) const;
    /// Compares what came with the digests that were sent along.
    void checkReceived(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival);
    /// And the weights of the copies of the stage with each other.
    void checkReceivedGradients(Stage stage, Arrival& gradients);

private:
    /// The tensor as its sender described it; type and size are those of what `came`.
    [[nodiscard]] ShownTensor asSent(const ShownTensor& came, const MessageDigests& digests,
                                     const std::shared_ptr<const LateTensor>& late) const;
    void checkWeights(Stage stage, StageModel& model, int layer, TimeNs end, IdleClock& clock);
    void checkKnownAnswer(CheckedTensor tensor, std::uint64_t answer, TimeNs end, IdleClock& clock);
    /// Of all layers of a stage, as written.
    [[nodiscard]] std::uint64_t weightsDigest(Stage stage) const;

    CheckContext& context_;
    std::map<std::pair<Stage, int>, LayerResult> weights_; ///< as written, by layer
};

} // namespace bubblescope::runtime
