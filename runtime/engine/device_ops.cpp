#include "runtime/engine/device_ops.h"

#include "runtime/accelerator/kernels/number_hash.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

DeviceOps::DeviceOps(std::shared_ptr<RankQueue> device, RankRecord& record, const CommTopology& topology, Rank rank,
                     profiler::KernelRecorder* kernels)
    : device_(std::move(device)), record_(record), topology_(topology), rank_(rank), kernels_(kernels) {
    device_->bindThread();
    if (kernels_ == nullptr) return;
    kernels_->addRank(rank_);
    nameStreams();
}

void DeviceOps::nameStreams() {
    const std::vector<RankQueue::NamedStream> streams = device_->streams();
    for (; named_streams_ < streams.size(); ++named_streams_)
        kernels_->addStream(rank_, streams[named_streams_].native, streams[named_streams_].purpose);
}

void DeviceOps::beginStep(TimeNs time, int step) {
    free_at_ = time;
    step_ = step;
    device_->beginStep();
    if (kernels_ != nullptr) nameStreams(); // the stream for checks is created later than the others
}

void DeviceOps::receive(Arrival& arrival, std::optional<TimeNs> latency) {
    const auto direction =
        arrival.key.content == Content::Activation ? RankQueue::Direction::Forward : RankQueue::Direction::Backward;
    arrival.tensor = device_->receive(std::move(arrival.tensor), direction, latency);
}

void DeviceOps::begin(std::span<const Op> ops, std::optional<TimeNs> nominal, int sums, std::uint64_t variant) {
    std::uint64_t key = 0;
    for (const Op& op : ops) { // micro-batches differ only in their data
        const auto chunk = static_cast<std::uint64_t>(op.chunk.value);
        const auto slice = static_cast<std::uint64_t>(op.sequence);
        key = key << 32 | (chunk & 0xFFF) << 18 | (slice & 0x3FFF) << 4 | (static_cast<std::uint64_t>(op.kind) + 1);
    }
    if (kernels_ != nullptr) kernels_->beginOp(rank_, {step_, {ops.begin(), ops.end()}});
    device_->beginOp(variant == 0 ? key : mixBits(key) + variant, nominal, sums);
}

void DeviceOps::end(std::span<const Op> ops, const std::vector<std::optional<Arrival>>& arrivals,
                    std::vector<std::size_t> sums) {
    device_->endOp();
    if (kernels_ != nullptr) kernels_->endOp();
    Queued& queued = queued_.emplace_back();
    queued.ops.assign(ops.begin(), ops.end());
    queued.sums = std::move(sums);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        if (!arrivals[i]) continue;
        const Arrival& from = *arrivals[i];
        queued.messages.push_back({ops[i], {from.key, {}, from.from, TimeNs{0}, TimeNs{0}, from.local}});
    }
}

void DeviceOps::sent(const Op& op, const CommTopology::Route& route, TimeNs latency) {
    queued_.back().sent.push_back({op, route, latency});
}

TimeNs DeviceOps::finish(int step) {
    const std::vector<RankQueue::OpTimes> times = device_->finishOps();
    done_.clear();
    for (std::size_t i = 0; i < queued_.size() && i < times.size(); ++i)
        record(queued_[i], times[i], step);
    queued_.clear();
    return free_at_;
}

void DeviceOps::record(const Queued& queued, const RankQueue::OpTimes& times, int step) {
    std::vector<Arrival> arrivals;
    TimeNs ready = free_at_;
    TimeNs there{0};
    for (std::size_t i = 0; i < queued.messages.size() && i < times.transfers.size(); ++i) {
        const Arrival& from = queued.messages[i].arrival;
        const RankQueue::Span& transfer = times.transfers[i];
        arrivals.push_back({from.key, {}, from.from, transfer.begin, transfer.end, from.local});
        if (!from.local) there = std::max(there, transfer.end);
    }
    ready = std::max(ready, there);
    for (const Op& op : queued.ops)
        done_.push_back({op, there, times.op.begin, times.op.end});
    for (std::size_t i = 0; i < arrivals.size(); ++i)
        record_.received(queued.messages[i].op, arrivals[i], free_at_, ready, step);
    const TimeNs exposed = recordSums(queued, times, step);
    for (const Op& op : queued.ops)
        record_.op({op, times.op.begin, times.op.end}, {TimeNs{0}, TimeNs{0}, exposed}, topology_.stageOf(op), step);
    free_at_ = times.op.end;
    for (const Sent& sent : queued.sent)
        record_.sent(sent.op, sent.route, free_at_, free_at_ + sent.latency, step);
}

TimeNs DeviceOps::recordSums(const Queued& queued, const RankQueue::OpTimes& times, int step) {
    TimeNs waited{0};
    auto next = times.sums.begin();
    for (std::size_t i = 0; i < queued.sums.size(); ++i) {
        const Op& op = queued.ops[i];
        for (std::size_t n = 0; n < queued.sums[i] && next != times.sums.end(); ++n, ++next) {
            waited += next->end - next->begin;
            record_.summed(op, topology_.stageOf(op), topology_.rank(), next->begin, next->end, step);
        }
    }
    return waited;
}

} // namespace bubblescope::runtime
