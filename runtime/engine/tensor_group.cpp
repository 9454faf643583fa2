#include "runtime/engine/tensor_group.h"

#include "runtime/engine/run_ended.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

void TensorGroup::beginOp(const Activity& computing, int sums) {
    computing_ = computing;
    sums_ = sums;
    emulated_.reset();
    spans_.clear();
    waited_ = TimeNs{0};
}

void TensorGroup::beginOp(const Activity& computing, int sums, TimeNs begin, TimeNs nominal, TimeNs latency) {
    beginOp(computing, sums);
    emulated_ = Emulated{begin, nominal, latency};
}

TimeNs TensorGroup::startOfNext() const {
    if (!emulated_) return clock_.now();
    const auto next = static_cast<std::int64_t>(spans_.size()) + 1;
    return emulated_->begin + waited_ + emulated_->nominal * next / std::max<std::int64_t>(sums_, next);
}

Tensor TensorGroup::addUp(Tensor part) {
    if (rehearsing_) return part;
    return device_ == nullptr ? addUpHere(std::move(part)) : addUpOnDevice(std::move(part));
}

Tensor TensorGroup::addUpHere(Tensor part) {
    const TimeNs start = startOfNext();
    const MessageKey key = nextKey();
    for (const Rank member : members_) {
        if (member != transport_.rank()) transport_.send(member, key, {part, start});
    }
    Tensor sum;
    TimeNs there = start;
    for (const Rank member : members_) {
        Tensor next = member == transport_.rank() ? std::move(part) : take(member, key, there);
        if (member == members_.front()) {
            sum = std::move(next);
        } else {
            sum += next;
        }
    }
    const TimeNs end = emulated_ ? there + emulated_->latency : std::max(start, clock_.now());
    waited_ += end - start;
    spans_.push_back({start, end});
    computing_.due += end - start;
    transport_.report(computing_);
    return sum;
}

Tensor TensorGroup::addUpOnDevice(Tensor part) {
    const MessageKey key = nextKey();
    device_->beginSum();
    for (const Rank member : members_) {
        if (member != transport_.rank()) transport_.send(member, key, {device_->handOver(Tensor(part)), clock_.now()});
    }
    std::vector<Tensor> parts;
    TimeNs there{0};
    for (const Rank member : members_)
        parts.push_back(member == transport_.rank() ? std::move(part) : take(member, key, there));
    spans_.emplace_back();
    transport_.report(computing_);
    return device_->addUp(std::move(parts), latency_);
}

MessageKey TensorGroup::nextKey() {
    const MessageKey key{Content::Part, {}, {}, {}, number_};
    number_ = (number_ + 1) % kPartsUnderWay;
    return key;
}

Tensor TensorGroup::take(Rank from, const MessageKey& key, TimeNs& there) {
    Activity summing = computing_;
    summing.kind = Activity::Kind::Summing;
    summing.peer = from;
    summing.since = summing.due = clock_.now();
    transport_.report(summing);
    Message message = receiveOrLeave(transport_, from, key).message;
    there = std::max(there, message.sent);
    return std::move(message.tensor);
}

} // namespace bubblescope::runtime
