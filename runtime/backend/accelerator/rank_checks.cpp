#include "runtime/backend/accelerator/device_tensor.h"

// The part of RankQueue for checks in bubbles.

namespace bubblescope::runtime {

void RankQueue::prepareChecks() {
    if (checks_) return;
    checks_ = std::make_unique<WorkQueue>(sharedDevice(), Accelerator::Priority::Low);
    step_stamp_ = pool().take(sizeof(std::uint64_t));
    check_stamp_ = checks_->pool().take(sizeof(std::uint64_t));
    step_mark_ = device().makeEvent(true);
    for (Accelerator::Event& mark : check_marks_)
        mark = device().makeEvent(true);
    checked_from_ = device().makeEvent(false);
}

TimeNs RankQueue::stepBegan() {
    device().record(step_mark_, stream());
    device().stamp(step_stamp_.as<std::uint64_t>(), stream());
    finish();
    return time_->of(step_mark_);
}

void RankQueue::holdSinceStep(TimeNs length) {
    device().holdUntil(step_stamp_.as<std::uint64_t>(), length, stream());
}

std::optional<TimeNs> RankQueue::finishSoFar() {
    finish();
    if (ops_.empty()) return std::nullopt;
    return time_->of(ops_.back().op.end);
}

RankDevice::Span RankQueue::runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) {
    const Accelerator::Stream on = checks_->stream();
    device().record(checked_from_, stream());
    device().wait(on, checked_from_);
    device().record(check_marks_[0], on);
    if (nominal) device().stamp(check_stamp_.as<std::uint64_t>(), on);
    in_check_ = true;
    try {
        work();
    } catch (...) {
        in_check_ = false;
        throw;
    }
    in_check_ = false;
    if (nominal) device().holdUntil(check_stamp_.as<std::uint64_t>(), *nominal, on);
    device().record(check_marks_[1], on);
    checks_->finish();
    return {time_->of(check_marks_[0]), time_->of(check_marks_[1])};
}

bool RankQueue::arrived(const Tensor& tensor, std::optional<TimeNs> latency, TimeNs now) {
    if (tensor.empty()) return true;
    const Accelerator::Event ready = queuedArray(tensor).ready();
    if (ready == nullptr || !device().reached(ready)) return false;
    return !latency || time_->of(ready) + *latency <= now;
}

std::shared_ptr<const LateTensor> RankQueue::adopt(std::shared_ptr<const LateTensor> note) {
    const auto& theirs = dynamic_cast<const DeviceNote&>(*note);
    DeviceDigest own = digests_.next();
    device().copy(own.at(), theirs.slot().at(), sizeof(std::uint64_t), stream());
    return std::make_shared<DeviceNote>(shared_from_this(), std::move(own), Buffer(), Storage::Float);
}

} // namespace bubblescope::runtime
