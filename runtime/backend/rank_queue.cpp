#include "runtime/backend/rank_queue.h"

#include "runtime/accelerator/kernels/number_hash.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

// The part of RankQueue for checks in bubbles.

namespace bubblescope::runtime {

namespace {

/// Makes the addresses of products' factors multiples of 256 bytes with either storage.
constexpr std::int64_t kAlignment = 128;

} // namespace

DeviceTime::DeviceTime(Accelerator& device, HostClock& clock)
    : device_(device), clock_(clock), stream_(device.makeStream()), reference_(device.makeEvent(true)),
      candidate_(device.makeEvent(true)) {}

DeviceTime::~DeviceTime() {
    device_.destroy(reference_);
    device_.destroy(candidate_);
    device_.destroy(stream_);
}

void DeviceTime::synchronise(std::int64_t step) {
    constexpr int kTries = 5;
    const std::lock_guard lock(mutex_);
    if (step == step_) return;
    step_ = step;
    TimeNs closest = TimeNs::max();
    for (int i = 0; i < kTries; ++i) {
        const TimeNs before = clock_.now();
        device_.record(candidate_, stream_);
        device_.finish(candidate_);
        const TimeNs after = clock_.now();
        if (after - before >= closest) continue;
        closest = after - before;
        host_ = before + closest / 2;
        std::swap(reference_, candidate_);
    }
}

TimeNs DeviceTime::of(Accelerator::Event event) const {
    return host_ + device_.elapsed(reference_, event);
}

RankQueue::RankQueue(std::shared_ptr<Accelerator> accelerator, std::shared_ptr<DeviceTime> time)
    : ComputeQueue(std::move(accelerator), Accelerator::Priority::Usual,
                   {.saves_attention = false, .separate_gradients = false, .alignment = kAlignment}),
      time_(std::move(time)), incoming_{Incoming(device()), Incoming(device())}, parts_(device()),
      gathered_(device().makeEvent(false)) {
    begin_stamp_ = pool().take(sizeof(std::uint64_t));
    addStream("compute", stream());
    addStream("incoming activations", incoming_[static_cast<std::size_t>(Direction::Forward)].stream);
    addStream("incoming gradients", incoming_[static_cast<std::size_t>(Direction::Backward)].stream);
    addStream("parts of sums", parts_.stream);
}

RankQueue::~RankQueue() {
    try {
        finish();
    } catch (const std::exception&) {
        // The device has failed, so no work is running on it.
    }
    for (const Incoming& way : incoming_)
        end(device(), way.stream);
    end(device(), parts_.stream);
    for (Accelerator::Event event : {gathered_, step_mark_, check_marks_[0], check_marks_[1], checked_from_}) {
        if (event != nullptr) device().destroy(event);
    }
    for (const auto& events : {marks_, hand_overs_}) {
        for (Accelerator::Event event : events)
            device().destroy(event);
    }
}

void RankQueue::beginStep() {
    time_->synchronise(steps_++);
    freeReturned();
    pool().settle();
    for (Incoming& way : incoming_)
        way.memory.settle();
    parts_.memory.settle();
}

Accelerator::Event RankQueue::mark(Accelerator::Stream stream) {
    if (marks_used_ == marks_.size()) marks_.push_back(device().makeEvent(true));
    Accelerator::Event event = marks_[marks_used_++];
    device().record(event, stream);
    return event;
}

Tensor RankQueue::receive(Tensor tensor, Direction direction, std::optional<TimeNs> latency) {
    received_.emplace_back();
    if (tensor.empty()) return tensor;
    DeviceArray& sent = tensor.device();
    if (sent.queue().get() == this) {
        if (sent.arrival()) await(sent, latency);
        return tensor;
    }
    Incoming& way = incoming_[static_cast<std::size_t>(direction)];
    device().wait(way.stream, sent.ready());
    received_.back().begin = mark(way.stream);
    if (latency) device().stamp(way.begin_stamp.as<std::uint64_t>(), way.stream);
    Buffer own = copyFrom(sent, way);
    if (latency) device().holdUntil(way.begin_stamp.as<std::uint64_t>(), *latency, way.stream);
    received_.back().end = mark(way.stream);
    device().wait(stream(), received_.back().end);
    own.usedOn(stream());
    return Tensor(
        std::make_unique<DeviceArray>(shared_from_this(), std::move(own), sent.rows(), sent.cols(), sent.storage()));
}

void RankQueue::await(DeviceArray& array, std::optional<TimeNs> latency) {
    const DeviceArrival& arrival = *array.arrival();
    device().wait(stream(), arrival.end);
    if (latency) device().holdUntil(arrival.stamp.as<std::uint64_t>(), *latency, stream());
    received_.back() = {arrival.begin, arrival.end, array.arrival(), latency.value_or(TimeNs{0})};
    array.buffer().usedOn(stream());
}

Buffer RankQueue::copyFrom(DeviceArray& sent, Incoming& way) {
    Buffer own = way.memory.take(sent.bytes());
    device().copy(own.as<void>(), sent.buffer().as<void>(), sent.bytes(), way.stream);
    sent.buffer().usedOn(way.stream);
    return own;
}

void RankQueue::freeLater(Tensor tensor) {
    const std::lock_guard lock(returned_mutex_);
    returned_.push_back(std::move(tensor));
}

Accelerator::Event RankQueue::takeHandOver() {
    {
        const std::lock_guard lock(returned_mutex_);
        if (!hand_overs_.empty()) {
            Accelerator::Event event = hand_overs_.back();
            hand_overs_.pop_back();
            return event;
        }
    }
    return device().makeEvent(timesHandOvers());
}

void RankQueue::returnHandOver(Accelerator::Event event) {
    const std::lock_guard lock(returned_mutex_);
    hand_overs_.push_back(event);
}

void RankQueue::freeReturned() {
    std::vector<Tensor> tensors;
    {
        const std::lock_guard lock(returned_mutex_);
        tensors.swap(returned_);
    }
}

void RankQueue::waitForRoom() {
    freeReturned();
    if (ahead_ && ops_.size() > *ahead_) device().finish(ops_[ops_.size() - 1 - *ahead_].op.end);
}

void RankQueue::beginOp(std::uint64_t key, std::optional<TimeNs> nominal, int sums) {
    current_ = Current{key, nominal, sums};
    OpMarks op;
    op.transfers = std::exchange(received_, {});
    op.op.begin = mark(stream());
    if (nominal) device().stamp(begin_stamp_.as<std::uint64_t>(), stream());
    ops_.push_back(std::move(op));
    device().beginBatch(key, stream());
}

TimeNs RankQueue::shareBefore(std::size_t sum) const {
    const auto sums = std::max<std::int64_t>(current_->sums, static_cast<std::int64_t>(sum) + 1);
    const auto until = [&](std::size_t n) { return *current_->nominal * static_cast<std::int64_t>(n) / sums; };
    return until(sum + 1) - until(sum);
}

void RankQueue::endOp() {
    device().endBatch(stream());
    // An op with sums has used up its nominal time after the last sum.
    if (current_->nominal && ops_.back().sums.empty())
        device().holdUntil(begin_stamp_.as<std::uint64_t>(), *current_->nominal, stream());
    ops_.back().op.end = mark(stream());
    current_.reset();
}

void RankQueue::beginSum() {
    if (!current_) return; // times are not needed
    device().endBatch(stream());
    std::vector<Marks>& sums = ops_.back().sums;
    if (current_->nominal) device().holdUntil(begin_stamp_.as<std::uint64_t>(), shareBefore(sums.size()), stream());
    sums.emplace_back().begin = mark(stream());
}

Tensor RankQueue::addUp(std::vector<Tensor> parts, std::optional<TimeNs> latency) {
    gather(parts, latency);
    Tensor sum = std::move(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i)
        sum += parts[i];
    if (!current_) return sum;
    std::vector<Marks>& sums = ops_.back().sums;
    sums.back().end = mark(stream());
    if (current_->nominal) device().stamp(begin_stamp_.as<std::uint64_t>(), stream());
    device().beginBatch(mixBits(current_->key) + sums.size(), stream());
    return sum;
}

void RankQueue::gather(std::vector<Tensor>& parts, std::optional<TimeNs> latency) {
    std::vector<DeviceArray*> copied;
    for (const Tensor& part : parts) {
        DeviceArray& array = part.device();
        if (array.queue().get() != this) {
            device().wait(parts_.stream, array.ready());
            copied.push_back(&array);
        } else if (array.arrival()) {
            device().wait(stream(), array.arrival()->end);
            if (latency) device().holdUntil(array.arrival()->stamp.as<std::uint64_t>(), *latency, stream());
            array.buffer().usedOn(stream());
        }
    }
    if (copied.empty()) return;
    // All parts are in transit at the same time.
    if (latency) device().stamp(parts_.begin_stamp.as<std::uint64_t>(), parts_.stream);
    std::vector<Buffer> here;
    for (DeviceArray* const array : copied)
        here.push_back(copyFrom(*array, parts_));
    if (latency) device().holdUntil(parts_.begin_stamp.as<std::uint64_t>(), *latency, parts_.stream);
    device().record(gathered_, parts_.stream);
    device().wait(stream(), gathered_);
    auto next = here.begin();
    for (Tensor& part : parts) {
        const DeviceArray& array = part.device();
        if (array.queue().get() == this) continue;
        next->usedOn(stream());
        part = Tensor(std::make_unique<DeviceArray>(shared_from_this(), std::move(*next++), array.rows(), array.cols(),
                                                    array.storage()));
    }
}

Tensor RankQueue::handOver(Tensor tensor) {
    if (tensor.empty()) return tensor;
    DeviceArray& array = tensor.device();
    if (array.ready() == nullptr)
        array.setReady(
            {takeHandOver(), [queue = shared()](Accelerator::Event event) { queue->returnHandOver(event); }});
    device().record(array.ready(), stream());
    return tensor;
}

std::vector<RankQueue::OpTimes> RankQueue::finishOps() {
    finish();
    freeReturned();
    const auto spanOf = [&](const Marks& marks) {
        return marks.begin == nullptr ? Span{} : Span{time_->of(marks.begin), time_->of(marks.end) + marks.latency};
    };
    std::vector<OpTimes> times;
    times.reserve(ops_.size());
    for (const OpMarks& op : ops_) {
        OpTimes& one = times.emplace_back();
        one.op = spanOf(op.op);
        for (const Marks& transfer : op.transfers)
            one.transfers.push_back(spanOf(transfer));
        for (const Marks& sum : op.sums)
            one.sums.push_back(spanOf(sum));
    }
    ops_.clear();
    marks_used_ = 0;
    return times;
}

void RankQueue::addStream(const std::string& purpose, Accelerator::Stream stream) {
    streams_.push_back({purpose, device().nativeStream(stream)});
}

void RankQueue::removeStream(Accelerator::Stream stream) {
    std::erase_if(streams_, [native = device().nativeStream(stream)](const NamedStream& named) {
        return named.native == native;
    });
}

std::int64_t RankQueue::peakBytes() const {
    std::int64_t sum = pool().peak() + parts_.memory.peak();
    for (const Incoming& way : incoming_)
        sum += way.memory.peak();
    return sum;
}

std::int64_t RankQueue::reservedBytes() const {
    std::int64_t sum = pool().reserved() + parts_.memory.reserved();
    for (const Incoming& way : incoming_)
        sum += way.memory.reserved();
    return sum;
}

std::unique_ptr<LiveTensor> RankQueue::live(WorkQueue& on, void* data, std::int64_t count, Storage storage,
                                            std::shared_ptr<const Buffer> memory) {
    return std::make_unique<DeviceTensor>(*this, on, data, count, storage, std::move(memory));
}

Tensor RankQueue::give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage storage) {
    return Tensor(std::make_unique<DeviceArray>(shared_from_this(), std::move(buffer), rows, columns, storage));
}

Buffer RankQueue::take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) {
    static_cast<void>(valuesOf(tensor, rows, columns, storage));
    return std::move(tensor.device().buffer());
}

const void* RankQueue::valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns, Storage storage) {
    const DeviceArray& array = tensor.device();
    if (array.queue().get() != this || array.storage() != storage || array.rows() != rows || array.cols() != columns)
        throw std::logic_error("a tensor does not belong to the stage that uses it");
    return array.buffer().as<void>();
}

void RankQueue::prepareChecks() {
    if (checks_) return;
    for (Accelerator::Event event : std::exchange(hand_overs_, {}))
        device().destroy(event); // from now on, these events must be timed
    checks_ = std::make_unique<WorkQueue>(sharedDevice(), Accelerator::Priority::Low);
    addStream("checks", checks_->stream());
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

RankQueue::Span RankQueue::runCheck(std::optional<TimeNs> nominal, const std::function<void()>& work) {
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
    const Accelerator::Event ready = tensor.device().ready();
    if (ready == nullptr || !device().reached(ready)) return false;
    return !latency || time_->of(ready) + *latency <= now;
}

std::shared_ptr<const DeviceSnapshot> RankQueue::adopt(const std::shared_ptr<const DeviceSnapshot>& note) {
    DeviceDigest own = digests().next(note->slot().bytes(), *this);
    device().copy(own.at(), note->slot().at(), sizeof(std::uint64_t), stream());
    return std::make_shared<DeviceSnapshot>(shared_from_this(), std::move(own));
}

} // namespace bubblescope::runtime
