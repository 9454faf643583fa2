#include "runtime/checks/state_checks.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/mismatch.h"
#include "runtime/backend/rank_queue.h"
#include "runtime/engine/rank_record.h"
#include "runtime/model/known_answers.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// Call queueDigests() with the result.
LayerResult weightsNow(StageModel& stage, int layer) {
    DigestProbe probe;
    stage.showWeights(layer, probe);
    return probe.take();
}

} // namespace

void StateChecks::weightsWritten() {
    LayerResult all;
    for (const auto& [stage, model] : context_.stages) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            const LayerResult& now = weights_[{stage, layer}] = weightsNow(*model, layer);
            all.insert(all.end(), now.begin(), now.end());
        }
    }
    queueDigests(all);
}

void StateChecks::weightsWrittenOfOne(bool wanted) {
    const auto began = std::chrono::steady_clock::now();
    if (context_.rank.mesh.replicas > 1 || routes(context_.rank.schedule.placement) > 1) {
        weightsWritten();
    } else if (!wanted) {
        weights_.clear();
        return;
    } else {
        std::size_t layers = 0;
        for (const auto& [stage, model] : context_.stages)
            layers += static_cast<std::size_t>(model->layers().count);
        if (layers == 0) return;
        std::size_t at = next_layer_++ % layers;
        weights_.clear();
        for (const auto& [stage, model] : context_.stages) {
            const LayerRange range = model->layers();
            const auto count = static_cast<std::size_t>(range.count);
            if (at < count) {
                const int layer = range.first + static_cast<int>(at);
                queueDigests(weights_[{stage, layer}] = weightsNow(*model, layer));
                break;
            }
            at -= count;
        }
    }
    weights_time_ = std::max<TimeNs>(std::chrono::steady_clock::now() - began, CheckContext::kSmallCheck);
}

TimeNs StateChecks::knownAnswersTime() {
    return CheckContext::kSmallCheck * static_cast<std::int64_t>(knownAnswers().size());
}

void StateChecks::checkWeights(TimeNs end, IdleClock& clock) {
    for (const auto& [stage, model] : context_.stages) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            if (weights_.contains({stage, layer})) checkWeights(stage, *model, layer, end, clock);
        }
    }
}

void StateChecks::checkWeights(Stage stage, StageModel& model, int layer, TimeNs end, IdleClock& clock) {
    CheckRecord record = context_.recordOf(CheckKind::Weights, CheckContext::kOptimizer, layer, CheckedTensor::Weights);
    record.first = runtime::digestOf(weights_[{stage, layer}]);
    record.start = record.end = clock.now();
    record.outcome = CheckOutcome::Skipped;
    if (clock.now() + CheckContext::kSmallCheck <= end && !clock.arrived()) {
        LayerResult now;
        std::tie(record.start, record.end) =
            clock.spend(TimeNs{0}, [&] { queueDigests(now = weightsNow(model, layer)); });
        setOutcome(record, record.first, runtime::digestOf(now));
    }
    if (record.outcome != CheckOutcome::Mismatch) return context_.write(record, CheckedTensor::Weights, stage);
    // A second reading shows whether the weights have changed or the first reading was wrong.
    LayerResult again;
    static_cast<void>(clock.spend(TimeNs{0}, [&] { queueDigests(again = weightsNow(model, layer)); }));
    record.verdict = runtime::digestOf(again) == record.first ? Verdict::Transient : Verdict::Device;
    context_.report(record, context_.rank.world);
    weights_[{stage, layer}] = std::move(again); // reports a change only once
}

void StateChecks::checkKnownAnswers(TimeNs end, IdleClock& clock) {
    for (const KnownAnswer& known : knownAnswers())
        checkKnownAnswer(known.tensor, known.digest, end, clock);
}

void StateChecks::checkKnownAnswer(CheckedTensor tensor, std::uint64_t answer, TimeNs end, IdleClock& clock) {
    const Op& first_op = context_.rank.schedule.ranks[context_.rank.place.rank.index()].front();
    const Stage stage = context_.stageOf(Chunk{0});
    CheckRecord record = context_.recordOf(CheckKind::KnownAnswer, first_op, 0, tensor);
    record.start = record.end = clock.now();
    record.first = answer;
    record.outcome = CheckOutcome::Skipped;
    if (clock.now() + CheckContext::kSmallCheck > end || clock.arrived()) return context_.write(record, tensor, stage);
    const auto compute = [&](int again) {
        LayerResult result;
        const auto span = clock.spend(TimeNs{0}, [&] {
            ResultProbe probe(
                context_.executions.injection(context_.executions.next(record.op, context_.step, 0, again)));
            context_.stages.front().second->computeKnown(tensor, probe);
            result = probe.take();
        });
        if (again == 0) std::tie(record.start, record.end) = span;
        return result.empty() ? answer : result.front().digestNow();
    };
    setOutcome(record, answer, compute(0));
    if (record.outcome == CheckOutcome::Equal) return context_.write(record, tensor, stage);
    // The answer is known, so a rank that repeatedly differs from it differs from all other ranks.
    const bool again = compute(1) != answer && compute(2) != answer;
    record.verdict = again ? Verdict::Device : Verdict::Transient;
    context_.report(record, context_.rank.world);
}

void StateChecks::sign(const std::optional<ShownTensor>& output, Message& message) const {
    const ShownTensor shown = output ? *output : message.tensor.live()->note(CheckedTensor::Output);
    if (!output) context_.digestWithOp(shown);
    message.digests = MessageDigests{shown.digest, 0};
    message.late = shown.late;
}

void StateChecks::signGradients(Stage stage, Message& gradients) const {
    const ShownTensor shown = gradients.tensor.live()->show(CheckedTensor::GradientSum, false);
    gradients.digests = MessageDigests{shown.digest, weightsDigest(stage)};
    gradients.late = shown.late;
}

void StateChecks::whenSentIsKnown(const Op& op, const ShownTensor& came, const Arrival& arrival,
                                  std::function<void(const ShownTensor& sent, TimeNs at)> then) {
    const auto sent = std::make_shared<ShownTensor>(
        ShownTensor{came.tensor, arrival.digests->content, {}, came.type, came.count, nullptr});
    // The copy of a digest is not needed before the step's end, and would be one more piece of work in the op.
    context_.whenKnown(
        op, arrival.time, [sent, then = std::move(then)](TimeNs at) { then(*sent, at); },
        [this, sent, theirs = arrival.late] { sent->late = context_.device->adopt(theirs); });
}

void StateChecks::checkReceived(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival) {
    if (!arrival.digests || (context_.device != nullptr && !arrival.late)) return;
    const CheckedTensor what = op.kind == OpKind::Forward ? CheckedTensor::Activation : CheckedTensor::Gradient;
    const LayerRange layers = context_.setup.layersOf(stage);
    const int layer = op.kind == OpKind::Forward ? layers.first : layers.first + std::max(0, layers.count - 1);
    CheckRecord record = context_.recordOf(CheckKind::Transfer, op, layer, what);
    const ShownTensor came = (op.kind == OpKind::Forward ? tensor.liveInOp() : tensor.live())->note(what);
    context_.digestWithOp(came);
    // On a device the tensor has been used by the time the mismatch is known, so it cannot be read again.
    Tensor* const here = context_.device == nullptr ? &tensor : nullptr;
    whenSentIsKnown(op, came, arrival, [=, this](const ShownTensor& sent, TimeNs at) mutable {
        setOutcome(record, sent.digestNow(), came.digestNow());
        record.start = record.end = at;
        if (record.outcome == CheckOutcome::Equal) return context_.write(record, what, stage);
        if (here != nullptr && here->live()->show(what, false).digest == record.first)
            record.verdict = Verdict::Transient; // the digest was wrong
        context_.report(record, context_.rank.world);
    });
}

void StateChecks::checkReceivedGradients(Stage stage, Arrival& gradients) {
    if (!gradients.digests || (context_.device != nullptr && !gradients.late)) return;
    const ShownTensor came = gradients.tensor.live()->show(CheckedTensor::GradientSum, false);
    const std::uint64_t own = weightsDigest(stage);
    const std::uint64_t others = gradients.digests->weights;
    whenSentIsKnown(CheckContext::kOptimizer, came, gradients, [=, this](const ShownTensor& sent, TimeNs at) {
        const auto check = [&](CheckKind kind, CheckedTensor what, std::uint64_t first, std::uint64_t second) {
            CheckRecord record =
                context_.recordOf(kind, CheckContext::kOptimizer, context_.setup.layersOf(stage).first, what);
            setOutcome(record, first, second);
            record.start = record.end = at;
            if (first == second) return context_.write(record, what, stage);
            context_.report(record, context_.rank.world);
        };
        check(CheckKind::Transfer, CheckedTensor::GradientSum, sent.digestNow(), came.digestNow());
        // Ranks choose the steps to check based on their own times, so one of them may have no digest of its weights.
        if (own != 0 && others != 0) check(CheckKind::Replicas, CheckedTensor::Weights, others, own);
    });
}

std::uint64_t StateChecks::weightsDigest(Stage stage) const {
    std::uint64_t weights = 0;
    for (const auto& [key, shown] : weights_) {
        if (key.first == stage) weights = digest::mix(weights) ^ runtime::digestOf(shown);
    }
    return weights;
}

} // namespace bubblescope::runtime
