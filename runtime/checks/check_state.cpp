#include "runtime/checks/rank_checker.h"

#include "core/aadiff/digest.h"

#include <algorithm>

// Checks what stays as it is: weights between optimizer steps, transfers, copies of a stage.

namespace bubblescope::runtime {
namespace {

LayerResult weightsNow(StageModel& stage, int layer) {
    DigestProbe probe;
    stage.showWeights(layer, probe);
    return probe.take();
}

} // namespace

void RankChecker::weightsWritten() {
    if (setup_ == nullptr) return;
    for (const auto& [stage, model] : stages_) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer)
            weights_[{stage, layer}] = weightsNow(*model, layer);
    }
}

void RankChecker::checkWeights(TimeNs end, SlotClock& clock) {
    for (const auto& [stage, model] : stages_) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            CheckRecord record = recordOf(CheckKind::Weights, kOptimizer, layer, CheckedTensor::Weights);
            record.first = runtime::digestOf(weights_[{stage, layer}]);
            record.start = record.end = clock.now();
            record.outcome = CheckOutcome::Skipped;
            if (clock.now() + kSmallCheck <= end && !clock.arrived()) {
                LayerResult now;
                std::tie(record.start, record.end) =
                    clock.spend(TimeNs{0}, [&, model = model] { now = weightsNow(*model, layer); });
                record.second = runtime::digestOf(now);
                record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
            }
            if (record.outcome != CheckOutcome::Mismatch) {
                tell(std::move(record), CheckedTensor::Weights, stage);
                continue;
            }
            // Read once more: either they have changed, or the reading was wrong.
            LayerResult again;
            static_cast<void>(clock.spend(TimeNs{0}, [&, model = model] { again = weightsNow(*model, layer); }));
            record.verdict = runtime::digestOf(again) == record.first ? Verdict::Transient : Verdict::Device;
            tellMismatch(record, place_.world);
            weights_[{stage, layer}] = std::move(again); // told once
        }
    }
}

void RankChecker::received(const Op& op, Stage stage, Tensor& tensor, const Arrival& sent) {
    if (!checks() || !sent.digests || (device_ != nullptr && !sent.late)) return;
    const CheckedTensor what = op.kind == OpKind::Forward ? CheckedTensor::Activation : CheckedTensor::Gradient;
    const LayerRange layers = setup_->layersOf(stage);
    const int layer = op.kind == OpKind::Forward ? layers.first : layers.first + std::max(0, layers.count - 1);
    CheckRecord record = recordOf(CheckKind::Transfer, op, layer, what);
    const ShownTensor came = tensor.live()->show(what, false);
    ShownTensor left{what, sent.digests->content, {}, came.type, came.count, nullptr};
    if (device_ != nullptr) left.late = device_->adopt(sent.late);
    // On a device the tensor has been used when this is known: it cannot be read once more.
    Tensor* const here = device_ == nullptr ? &tensor : nullptr;
    whenKnown(op, sent.time, [=, this, theirs = sent.late](TimeNs at) mutable {
        record.first = left.digestNow();
        record.second = came.digestNow();
        record.start = record.end = at;
        record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
        if (record.outcome == CheckOutcome::Equal) return tell(record, what, stage);
        if (here != nullptr && here->live()->show(what, false).digest == record.first)
            record.verdict = Verdict::Transient; // it was the digest that went wrong
        tellMismatch(record, place_.world);
    });
}

std::uint64_t RankChecker::weightsOf(Stage stage) const {
    std::uint64_t weights = 0;
    for (const auto& [key, shown] : weights_) {
        if (key.first == stage) weights = digest::mix(weights) ^ runtime::digestOf(shown);
    }
    return weights;
}

void RankChecker::sign(Stage stage, Message& gradients) const {
    const ShownTensor shown = gradients.tensor.live()->show(CheckedTensor::GradientSum, false);
    gradients.digests = MessageDigests{shown.digest, weightsOf(stage)};
    gradients.late = shown.late;
}

void RankChecker::receivedGradients(Stage stage, Arrival& gradients) {
    if (!checks() || !gradients.digests || (device_ != nullptr && !gradients.late)) return;
    const ShownTensor came = gradients.tensor.live()->show(CheckedTensor::GradientSum, false);
    ShownTensor left{came.tensor, gradients.digests->content, {}, came.type, came.count, nullptr};
    if (device_ != nullptr) left.late = device_->adopt(gradients.late);
    const std::uint64_t own = weightsOf(stage);
    const std::uint64_t others = gradients.digests->weights;
    whenKnown(kOptimizer, gradients.time, [=, this, theirs = gradients.late](TimeNs at) {
        const auto check = [&](CheckKind kind, CheckedTensor what, std::uint64_t first, std::uint64_t second) {
            CheckRecord record = recordOf(kind, kOptimizer, setup_->layersOf(stage).first, what);
            record.first = first;
            record.second = second;
            record.start = record.end = at;
            record.outcome = first == second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
            if (first == second) return tell(std::move(record), what, stage);
            tellMismatch(record, place_.world);
        };
        check(CheckKind::Transfer, CheckedTensor::GradientSum, left.digestNow(), came.digestNow());
        check(CheckKind::Replicas, CheckedTensor::Weights, others, own);
    });
}

} // namespace bubblescope::runtime
