#include "runtime/engine/rank_loop.h"

#include <algorithm>
#include <utility>

// The end of a rank's step: gradients of all copies are summed, and the optimizer writes weights.

namespace bubblescope::runtime {
namespace {

constexpr Op kOptimizer{OpKind::Optimizer, Microbatch{0}, Chunk{0}};

} // namespace

std::vector<Tensor> RankLoop::sumGradients(const Op& op, TimeNs& ready) {
    std::vector<Tensor> own;
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = wiring_.stageOf(Chunk{c});
        own.push_back(model(stage).takeGradient());
        for (const Wiring::Copy& copy : wiring_.copiesOf(stage)) {
            if (copy.own) continue;
            Message message{own.back(), ready};
            if (checks()) checker_->sign(stage, message);
            if (device_) message.tensor = device_->handOver(std::move(message.tensor));
            wires_.send(copy.holder, Wiring::sumKey(stage, copy.stage), std::move(message));
        }
    }
    std::vector<Tensor> sums;
    for (int c = 0; c < schedule_.vpp; ++c)
        sums.push_back(sumOfCopies(op, wiring_.stageOf(Chunk{c}), std::move(own[Chunk{c}.index()]), ready));
    return sums;
}

Tensor RankLoop::sumOfCopies(const Op& op, Stage stage, Tensor own, TimeNs& ready) {
    Tensor sum;
    bool first = true;
    for (const Wiring::Copy& copy : wiring_.copiesOf(stage)) {
        Tensor part;
        if (copy.own) {
            part = std::move(own);
        } else {
            Arrival arrival = receive(op, copy.holder, Wiring::sumKey(copy.stage, stage));
            ready = std::max(ready, arrival.time);
            if (device_) device_->receive(arrival, paced(state_.config.times.comm));
            if (checks()) checker_->receivedGradients(stage, arrival);
            part = std::move(arrival.tensor);
        }
        if (std::exchange(first, false)) {
            sum = std::move(part);
        } else {
            sum += part;
        }
    }
    return sum;
}

void RankLoop::runOptimizer() {
    checkStop();
    const std::span<const Op> op{&kOptimizer, 1};
    current_ = kOptimizer;
    meetFaults(op);
    // One op updates all of the rank's stages; its nominal time is that of the first.
    const TimeNs nominal = nominalTime(op);
    TimeNs ready = clock_.freeAt();
    const std::vector<Tensor> sums = sumGradients(kOptimizer, ready);
    const TimeNs begin = clock_.begin(ready, nominal);
    report(Activity::Kind::Computing, kOptimizer, {}, begin + nominal);
    if (device_) device_->begin(op, paced(nominal));
    for (int c = 0; c < schedule_.vpp; ++c)
        model(wiring_.stageOf(Chunk{c})).applyGradient(sums[Chunk{c}.index()]);
    if (checker_) checker_->weightsWritten();
    if (device_) device_->end(op, {});
    for (int c = 0; c < schedule_.vpp; ++c)
        noteLoss(wiring_.stageOf(Chunk{c}));
    if (device_) return countOps(1);
    stretch(op, begin, nominal);
    holdAndRecord(op, begin, nominal, clock_.end(begin, nominal), TimeNs{0});
}

} // namespace bubblescope::runtime
