#include "runtime/backend/nccl/nccl_channel.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// Number of receives that are queued before their messages are requested.
constexpr std::size_t kAhead = 2;

/// Ends a group even if an exception is thrown.
class Group {
public:
    explicit Group(PeerLibrary& library) : library_(library) { library_.beginGroup(); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() {
        if (open_) library_.endGroup();
    }
    void end() {
        open_ = false;
        library_.endGroup();
    }

private:
    PeerLibrary& library_;
    bool open_ = true;
};

} // namespace

NcclChannel::NcclChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm)
    : context_(context), link_(link), self_(self),
      stream_(context_.queue->device().makeStream(Accelerator::Priority::Urgent)),
      memory_(context_.queue->device(), stream_), comm_(std::move(comm)) {
    context_.queue->addStream(purposeOf(link_, self_), stream_);
}

NcclChannel::~NcclChannel() {
    comm_.reset();
    context_.queue->removeStream(stream_);
    device().destroy(stream_);
}

void NcclChannel::releaseTensors() noexcept {
    try {
        device().finish(stream_);
    } catch (const std::exception&) {
        // The device has failed, so no work is running on it.
    }
    for (const Outgoing& out : outgoing_)
        device().destroy(out.done);
    outgoing_.clear();
}

void SendChannel::releaseTensors() noexcept {
    NcclChannel::releaseTensors();
    waiting_.clear();
    issued_.reset();
}

void ReceiveChannel::releaseTensors() noexcept {
    NcclChannel::releaseTensors();
    ready_.clear();
    issued_.reset();
}

void ExchangeChannel::releaseTensors() noexcept {
    NcclChannel::releaseTensors();
    given_.clear();
    coming_.clear();
    ready_.clear();
}

void NcclChannel::send(Rank, const MessageKey&, Tensor) {
    throw std::logic_error("a link received a message for another link");
}

std::optional<Tensor> NcclChannel::take(Rank, const MessageKey&) {
    throw std::logic_error("a message was requested from the wrong link");
}

int NcclChannel::placeOf(Rank rank) const {
    return static_cast<int>(std::ranges::find(link_.members, rank) - link_.members.begin());
}

NcclChannel::Incoming NcclChannel::prepare(const MessageKey& key) {
    const ArrayShape shape = context_.shape_of(key);
    auto arrival = std::make_shared<DeviceArrival>(device());
    if (context_.paced) arrival->stamp = memory_.take(sizeof(std::uint64_t));
    Incoming incoming{memory_.take(shape.bytes()), shape, std::move(arrival)};
    device().record(incoming.arrival->begin, stream_);
    return incoming;
}

void NcclChannel::queueSend(const Tensor& tensor, Rank to) {
    if (tensor.empty()) return; // both ends skip it
    const Buffer& buffer = tensor.device().buffer();
    comm_->send(buffer.as<void>(), buffer.bytes(), placeOf(to), stream_);
}

void NcclChannel::queueReceive(const Incoming& incoming, Rank from) {
    if (incoming.buffer.empty()) return;
    comm_->receive(incoming.buffer.as<void>(), incoming.buffer.bytes(), placeOf(from), stream_);
}

Tensor NcclChannel::landed(Incoming incoming) {
    if (context_.paced) device().stamp(incoming.arrival->stamp.as<std::uint64_t>(), stream_);
    device().record(incoming.arrival->end, stream_);
    auto array = std::make_unique<DeviceArray>(context_.queue, std::move(incoming.buffer), incoming.shape.rows,
                                               incoming.shape.columns, incoming.shape.storage);
    array->cameBy(std::move(incoming.arrival));
    return Tensor(std::move(array));
}

void NcclChannel::sent(Tensor tensor) {
    Outgoing& out = outgoing_.emplace_back(Outgoing{std::move(tensor), device().makeEvent(false)});
    device().record(out.done, stream_);
}

void NcclChannel::releaseSent() {
    while (!outgoing_.empty() && device().reached(outgoing_.front().done)) {
        device().destroy(outgoing_.front().done);
        context_.queue->freeLater(std::move(outgoing_.front().tensor));
        outgoing_.pop_front();
    }
}

void SendChannel::send(Rank to, const MessageKey& key, Tensor tensor) {
    const LinkMessage& next = link_.messages[given_++ % link_.messages.size()];
    if (next != LinkMessage{self_, to, key})
        throw std::logic_error("a rank sends in a different order than its schedule");
    waiting_.push_back(std::move(tensor));
}

void SendChannel::progress() {
    releaseSent();
    for (;;) {
        if (issued_) {
            if (!comm_->ready()) return;
            sent(std::move(*issued_));
            issued_.reset();
        }
        if (waiting_.empty()) return;
        issued_ = std::move(waiting_.front());
        waiting_.pop_front();
        if (!issued_->empty()) device().wait(stream_, issued_->device().ready());
        Group group(*context_.library);
        queueSend(*issued_, link_.members.back());
        group.end();
    }
}

ReceiveChannel::ReceiveChannel(const LinkContext& context, const PeerLink& link, Rank self,
                               std::unique_ptr<PeerComm> comm)
    : NcclChannel(context, link, self, std::move(comm)) {
    for (std::size_t i = 0; i < link_.messages.size(); ++i)
        place_of_.emplace(link_.messages[i].key, i);
}

std::size_t ReceiveChannel::wanted() const {
    return std::min(limit_, std::max(demanded_, taken_ + kAhead));
}

std::optional<Tensor> ReceiveChannel::take(Rank, const MessageKey& key) {
    if (!ready_.contains(key)) {
        demanded_ = std::max(demanded_, limit_ - link_.messages.size() + place_of_.at(key) + 1);
        progress();
    }
    const auto found = ready_.find(key);
    if (found == ready_.end()) return std::nullopt;
    Tensor tensor = std::move(found->second);
    ready_.erase(found);
    ++taken_;
    return tensor;
}

void ReceiveChannel::progress() {
    for (;;) {
        if (issued_) {
            if (!comm_->ready()) return;
            const MessageKey& key = link_.messages[(begun_ - 1) % link_.messages.size()].key;
            ready_.insert_or_assign(key, landed(std::move(*issued_)));
            issued_.reset();
        }
        if (begun_ >= wanted()) return;
        issued_ = prepare(link_.messages[begun_++ % link_.messages.size()].key);
        Group group(*context_.library);
        queueReceive(*issued_, link_.members.front());
        group.end();
    }
}

ExchangeChannel::ExchangeChannel(const LinkContext& context, const PeerLink& link, Rank self,
                                 std::unique_ptr<PeerComm> comm)
    : NcclChannel(context, link, self, std::move(comm)) {
    sends_ = static_cast<std::size_t>(
        std::ranges::count(link_.messages, self, [](const LinkMessage& message) { return message.from; }));
}

void ExchangeChannel::send(Rank to, const MessageKey& key, Tensor tensor) {
    given_.insert_or_assign({to, key}, std::move(tensor));
}

std::optional<Tensor> ExchangeChannel::take(Rank from, const MessageKey& key) {
    progress();
    const auto found = ready_.find({from, key});
    if (found == ready_.end()) return std::nullopt;
    Tensor tensor = std::move(found->second);
    ready_.erase(found);
    return tensor;
}

void ExchangeChannel::progress() {
    releaseSent();
    if (!issued_ && given_.size() == sends_) issue();
    if (!issued_ || !comm_->ready()) return;
    for (auto& [label, incoming] : coming_)
        ready_.insert_or_assign(label, landed(std::move(incoming)));
    for (auto& [label, tensor] : given_)
        sent(std::move(tensor));
    coming_.clear();
    given_.clear();
    issued_ = false;
}

void ExchangeChannel::issue() {
    for (const auto& [label, tensor] : given_) {
        if (!tensor.empty()) device().wait(stream_, tensor.device().ready());
    }
    for (const LinkMessage& message : link_.messages) {
        if (message.to == self_) coming_.insert_or_assign({message.from, message.key}, prepare(message.key));
    }
    // All members follow the same plan, so receives from a member are in the order of its sends.
    Group group(*context_.library);
    for (const LinkMessage& message : link_.messages) {
        if (message.from == self_) queueSend(given_.at({message.to, message.key}), message.to);
        if (message.to == self_) queueReceive(coming_.at({message.from, message.key}), message.from);
    }
    group.end();
    issued_ = true;
}

} // namespace bubblescope::runtime
