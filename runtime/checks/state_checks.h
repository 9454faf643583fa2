#pragma once

#include "runtime/checks/check_context.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope::runtime {

/// Checks of state that must not change or whose value is known in advance: weights between optimizer steps, transfers,
/// copies of a stage, and computations with known answers. For the rank's thread.
class StateChecks {
public:
    /// `context` must outlive the object.
    explicit StateChecks(CheckContext& context) : context_(context) {}

    /// Records the digests of all weights.
    void weightsWritten();
    /// For runs where checks must not lengthen steps: if `wanted`, records the digests of one layer, a different one on
    /// each call. Records all digests if other ranks have copies of the weights.
    void weightsWrittenOfOne(bool wanted);
    /// Discards the recorded digests, which are outdated.
    void forgetWeights() { weights_.clear(); }
    /// Upper limit for the time of all checks of known answers.
    [[nodiscard]] static TimeNs knownAnswersTime();
    /// The time needed to check the recorded weights.
    [[nodiscard]] TimeNs weightsTime() const { return weights_time_; }
    /// Runs checks in a slot that is predicted to end at `end`. Checks that do not fit are recorded as skipped.
    void checkWeights(TimeNs end, IdleClock& clock);
    void checkKnownAnswers(TimeNs end, IdleClock& clock);

    /// Adds digests to a message; `output` is the op's result, if a layer has reported it.
    void sign(const std::optional<ShownTensor>& output, Message& message) const;
    void signGradients(Stage stage, Message& gradients) const;
    /// Compares a received tensor with the digests that were sent with it.
    void checkReceived(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival);
    /// Like checkReceived(), for gradients; also compares the weights of the stage's copies with each other.
    void checkReceivedGradients(Stage stage, Arrival& gradients);

private:
    /// Like CheckContext::whenKnown(), with the tensor as described by its sender; type and size are those of `came`.
    void whenSentIsKnown(const Op& op, const ShownTensor& came, const Arrival& arrival,
                         std::function<void(const ShownTensor& sent, TimeNs at)> then);
    void checkWeights(Stage stage, StageModel& model, int layer, TimeNs end, IdleClock& clock);
    void checkKnownAnswer(CheckedTensor tensor, std::uint64_t answer, TimeNs end, IdleClock& clock);
    /// The digest of the weights of all layers of a stage, as last written.
    [[nodiscard]] std::uint64_t weightsDigest(Stage stage) const;

    CheckContext& context_;
    std::map<std::pair<Stage, int>, LayerResult>
        weights_; ///< digests of the weights when last written, by layer; may be missing for some layers, see above
    std::size_t next_layer_ = 0;
    TimeNs weights_time_{0};
};

} // namespace bubblescope::runtime
