#include "runtime/checks/rank_checker.h"

#include <chrono>

// Looks on while ops run.

namespace bubblescope::runtime {
namespace {

TimeNs hostNow() {
    return std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch());
}

bool isResult(CheckedTensor tensor) {
    return tensor == CheckedTensor::Output || tensor == CheckedTensor::InputGradient ||
           tensor == CheckedTensor::WeightGradient;
}

} // namespace

void RankChecker::beginOp(const Op& op, Stage stage, TimeNs now) {
    op_ = op;
    stage_ = stage;
    op_begin_ = now;
    output_.reset();
    if (faults_.none()) return;
    for (const auto& [number, model] : stages_) {
        if (number != stage) continue;
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            if (!faults_.strikesWeights(op, step_, layer)) continue;
            LayerStrikes strikes(faults_, {op, step_, layer, 0, ++executions_});
            DigestProbe probe(&strikes);
            model->showWeights(layer, probe);
        }
    }
}

bool RankChecker::begin(const LayerCall& call) {
    call_ = call;
    run_ = {op_, step_, call.layer, 0, ++executions_};
    strikes_.emplace(faults_, run_);
    shown_.clear();
    if (!checks()) return false;
    const bool room = !setup_->options.memory || kept_bytes_ < *setup_->options.memory;
    keeps_ = room && wanted_.contains({keyOf(op_), call.layer});
    tries_ = tried_.insert({call.part, kindOf(call.layer)}).second;
    layer_began_ = hostNow();
    return keeps_ || tries_;
}

void RankChecker::touch(CheckedTensor tensor, LiveTensor& values) {
    strikes_->strike(tensor, values);
    if (!checks()) return;
    // Of weights' gradients a device has the sum so far, which tells of the order of ops too: not for comparing runs.
    const bool needed =
        tensor == CheckedTensor::WeightGradient ? setup_->options.digests && device_ == nullptr : isResult(tensor);
    if (!keeps_ && !tries_ && !needed) return;
    const ShownTensor& shown = shown_.emplace_back(values.show(tensor, keeps_ || tries_));
    if (isResult(tensor) && tensor != CheckedTensor::WeightGradient)
        output_ = ShownTensor{tensor, shown.digest, {}, shown.type, shown.count, shown.late};
}

void RankChecker::end(std::unique_ptr<LayerReplay> replay) {
    if (!checks()) return;
    if (device_ == nullptr) noteCost({run_, stage_, call_.part, nullptr, {}}, hostNow() - layer_began_);
    LayerResult results;
    for (const ShownTensor& one : shown_) {
        const bool compared = device_ == nullptr || one.tensor != CheckedTensor::WeightGradient;
        if (setup_->options.digests && isResult(one.tensor) && compared)
            results.push_back({one.tensor, one.digest, {}, one.type, one.count, one.late});
    }
    if (!results.empty()) {
        whenKnown(op_, op_begin_, [this, run = run_, stage = stage_, results = std::move(results)](TimeNs at) {
            const DigestRecord digest{run.step, place_.mesh.rank, place_.mesh.replica, place_.mesh.tensor,
                                      run.op,   run.layer,        std::string(),       runtime::digestOf(results),
                                      at};
            push(profiler::SliceRecord::of(digest, results.front().tensor, stage));
        });
    }
    if (!replay) return;
    Kept kept{run_, stage_, call_.part, std::move(replay), std::move(shown_)};
    if (tries_) device_ == nullptr ? tryTwice(kept, nullptr) : to_try_.push_back(kept);
    if (!keeps_) return;
    kept_bytes_ += kept.replay->bytes();
    for (const ShownTensor& one : kept.first)
        kept_bytes_ += one.bytes();
    kept_[{keyOf(op_), call_.layer}].push_back(std::move(kept));
}

void RankChecker::tryTwice(const Kept& kept, SlotClock* clock) {
    // Two executions, neither of which is the one that a fault of the moment may have struck.
    Kept again{kept.run, kept.stage, kept.part, kept.replay, {}};
    LayerResult twice;
    const auto work = [&] {
        again.first = execute(*kept.replay, kept.run, 1);
        twice = execute(*kept.replay, kept.run, 2);
    };
    CheckRecord record = recordOf(CheckKind::Replay, kept.run.op, kept.run.layer, CheckedTensor::Output);
    record.start = record.end = op_begin_;
    if (clock != nullptr) {
        std::tie(record.start, record.end) = clock->spend(TimeNs{0}, work);
        noteCost(kept, (record.end - record.start) / 2);
    } else {
        work();
    }
    if (firstDifference(again.first, twice)) compare(again, twice, std::move(record), TimeNs{0}, clock);
}

void RankChecker::sign(Message& message) const {
    const ShownTensor shown = output_ ? *output_ : message.tensor.live()->show(CheckedTensor::Output, false);
    message.digests = MessageDigests{shown.digest, 0};
    message.late = shown.late;
}

} // namespace bubblescope::runtime
