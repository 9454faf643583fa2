#include "runtime/checks/layer_capture.h"

#include "core/aadiff/digest.h"
#include "profiler/recorder/ring.h"

#include <algorithm>
#include <chrono>

namespace bubblescope::runtime {
namespace {

TimeNs hostNow() {
    return std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch());
}

bool isResult(CheckedTensor tensor) {
    return tensor == CheckedTensor::Output || tensor == CheckedTensor::InputGradient ||
           tensor == CheckedTensor::WeightGradient;
}

ShownTensor withoutValues(const ShownTensor& shown) {
    return {shown.tensor, shown.digest, {}, shown.type, shown.count, shown.late};
}

} // namespace

void LayerCapture::beginStep(std::span<const PlannedCheck> planned) {
    wanted_.clear();
    weights_to_come_.clear();
    captured_.clear();
    captured_bytes_ = 0;
    for (const PlannedCheck& check : planned) {
        const CheckUnit& unit = context_.plan().units[check.unit];
        const int layer = context_.setup.layersOf(context_.stageOf(unit.chunk)).first + unit.layer;
        const Op& op = context_.timeline()[check.op].op;
        const bool is_new = wanted_.insert({keyOf(op), layer}).second;
        if (is_new && (op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight)) ++weights_to_come_[layer];
    }
}

std::uint64_t LayerCapture::variantOf(std::span<const Op> ops) const {
    if (!context_.active()) return 0;
    std::uint64_t variant = digests() ? 2 : 1; // results whose digest is computed keep their memory until then
    for (const Op& op : ops) {
        for (auto at = wanted_.lower_bound({keyOf(op), 0}); at != wanted_.end() && at->first == keyOf(op); ++at)
            variant = digest::mix(variant + static_cast<std::uint64_t>(at->second));
    }
    return variant;
}

void LayerCapture::beginOp(const Op& op, Stage stage, TimeNs begin) {
    op_ = op;
    stage_ = stage;
    op_begin_ = begin;
    output_.reset();
    for (const auto& [number, model] : context_.stages) {
        if (number == stage) context_.executions.injectIntoWeights(op, context_.step, *model);
    }
}

bool LayerCapture::begin(const LayerCall& call) {
    call_ = call;
    captures_ = tries_ = false;
    run_ = context_.executions.next(op_, context_.step, call.layer);
    injection_.emplace(context_.executions.injection(run_));
    shown_.clear();
    if (!context_.active()) return false;
    const std::optional<std::int64_t>& memory = context_.setup.options.memory;
    const bool wanted = wanted_.contains({keyOf(op_), call.layer});
    if (wanted && call.part == LayerPart::WeightGradient) --weights_to_come_[call.layer];
    captures_ = wanted && (!memory || captured_bytes_ < *memory);
    tries_ = tried_.insert({call.part, costs_.kindOf(call.layer)}).second;
    layer_began_ = hostNow();
    return captures_ || tries_;
}

void LayerCapture::touch(CheckedTensor tensor, LiveTensor& values) {
    injection_->inject(tensor, values);
    if (!context_.active()) return;
    // A device has only the current sum of the weights' gradients. It depends on the order of ops, so it cannot be used
    // to compare runs.
    const bool needed = tensor == CheckedTensor::WeightGradient
                            ? context_.setup.options.digests && context_.device == nullptr
                            : isResult(tensor);
    const bool keeps = captures_ || tries_;
    if (!keeps && !(needed && digests())) return;
    const auto show = [&] { shown_.push_back(keeps ? values.keep(tensor) : values.note(tensor)); };
    tries_ ? show() : context_.timed(captures_ ? context_.repeat_cost : context_.digest_cost, show);
    if (!needed || !digests()) return;
    const ShownTensor& shown = shown_.back();
    context_.digestWithOp(shown);
    if (tensor != CheckedTensor::WeightGradient) output_ = withoutValues(shown);
}

void LayerCapture::end(std::unique_ptr<ReexecutableLayer> computation) {
    if (!context_.active()) return;
    if (context_.device == nullptr) costs_.note({run_, stage_, call_.part, nullptr, {}}, hostNow() - layer_began_);
    if (context_.digests()) context_.timed(context_.digest_cost, [this] { recordDigests(); });
    if (!computation) return;
    CapturedLayer layer{run_, stage_, call_.part, std::move(computation), std::move(shown_)};
    if (tries_) {
        if (context_.device == nullptr) {
            reexecution_.tryTwice(layer, op_begin_, nullptr);
        } else {
            to_try_.push_back(layer);
        }
    }
    if (!captures_) return;
    captured_bytes_ += layer.computation->bytes();
    for (const ShownTensor& one : layer.first)
        captured_bytes_ += one.bytes();
    captured_[{keyOf(op_), call_.layer}].push_back(std::move(layer));
}

void LayerCapture::recordDigests() {
    if (!context_.setup.options.digests) return;
    LayerResult results;
    for (const ShownTensor& one : shown_) {
        const bool compared = context_.device == nullptr || one.tensor != CheckedTensor::WeightGradient;
        if (isResult(one.tensor) && compared) results.push_back(withoutValues(one));
    }
    if (results.empty()) return;
    context_.whenKnown(op_, op_begin_, [this, run = run_, stage = stage_, results = std::move(results)](TimeNs at) {
        const MeshPlace& place = context_.rank.place;
        const DigestRecord digest{run.step, place.rank, place.replica, place.tensor,
                                  run.op,   run.layer,  std::string(), runtime::digestOf(results),
                                  at};
        context_.write(profiler::SliceRecord::of(digest, results.front().tensor, stage));
    });
}

const std::vector<CapturedLayer>* LayerCapture::find(const Op& op, int layer) const {
    const auto found = captured_.find({keyOf(op), layer});
    return found == captured_.end() ? nullptr : &found->second;
}

std::vector<CapturedLayer> LayerCapture::take(const Op& op, int layer) {
    return std::move(captured_.extract({keyOf(op), layer}).mapped());
}

void LayerCapture::tryOnDevice(IdleClock& clock) {
    for (const CapturedLayer& layer : std::exchange(to_try_, {}))
        reexecution_.tryTwice(layer, TimeNs{0}, &clock);
    captured_.clear(); // no bubble follows
}

} // namespace bubblescope::runtime
