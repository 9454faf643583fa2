#include "runtime/comm/nccl/device_data_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

std::string nameOf(const PeerLink& link) {
    if (link.one_way)
        return fmt::format("the link from rank {} to rank {}", link.members[0].value, link.members[1].value);
    std::string ranks;
    for (const Rank member : link.members)
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", member.value);
    return fmt::format("the link between ranks {}", ranks);
}

} // namespace

DeviceDataChannel::DeviceDataChannel(LinkContext context, std::vector<PeerLink> links, std::vector<std::string> ids,
                                     Rank self)
    : context_(std::move(context)), self_(self), links_(std::move(links)), ids_(std::move(ids)) {
    joinNext();
}

DeviceDataChannel::~DeviceDataChannel() {
    // Received tensors lie in the links' memory, which a run that has ended early may still read.
    try {
        context_.queue->bindThread();
        context_.queue->finish();
    } catch (const std::exception&) {
        // The device has failed; nothing runs on it any more.
    }
    context_.queue->forgetOps();
    for (const auto& end : ends_)
        end->letGo();
}

void DeviceDataChannel::joinNext() {
    // Sequentially, in an order that all ranks share, so that no two wait for each other.
    while (next_ < links_.size() && !std::ranges::count(links_[next_].members, self_))
        ++next_;
    if (next_ == links_.size()) return;
    const std::vector<Rank>& members = links_[next_].members;
    const auto place = std::ranges::find(members, self_) - members.begin();
    joining_ = context_.library->join(ids_[next_], static_cast<int>(place), static_cast<int>(members.size()));
}

bool DeviceDataChannel::connected() {
    while (joining_) {
        if (!joining_->ready()) return false;
        add(links_[next_++], std::move(joining_));
        joinNext();
    }
    return true;
}

std::string DeviceDataChannel::waitsFor() const {
    return joining_ ? nameOf(links_[next_]) : std::string();
}

void DeviceDataChannel::add(const PeerLink& link, std::unique_ptr<PeerComm> comm) {
    if (!link.one_way) {
        ends_.push_back(std::make_unique<ExchangeChannel>(context_, link, self_, std::move(comm)));
        for (const LinkMessage& message : link.messages) {
            if (message.from == self_ || message.to == self_)
                by_label_[labelOf(message.from, message.to, message.key)] = ends_.back().get();
        }
        return;
    }
    if (link.members.front() == self_) {
        ends_.push_back(std::make_unique<SendChannel>(context_, link, self_, std::move(comm)));
    } else {
        ends_.push_back(std::make_unique<ReceiveChannel>(context_, link, self_, std::move(comm)));
    }
    by_label_[labelOf(link.members[0], link.members[1], link.messages.front().key)] = ends_.back().get();
}

NcclChannel& DeviceDataChannel::endFor(const Label& label) {
    const auto found = by_label_.find(label);
    if (found == by_label_.end()) throw std::logic_error("two ranks have no link for what one sends to the other");
    return *found->second;
}

void DeviceDataChannel::expect(std::span<const Expected>) {
    for (const auto& end : ends_)
        end->expect();
    progress();
}

void DeviceDataChannel::send(Rank to, const MessageKey& key, Message message) {
    if (aborted_) return;
    endFor(labelOf(self_, to, key)).send(to, key, std::move(message.tensor));
    progress();
}

void DeviceDataChannel::progress() {
    if (aborted_) return;
    context_.queue->device().bindThread(); // called by the rank's thread and by the thread that advances messages
    for (const auto& end : ends_) {
        try {
            end->progress();
        } catch (const std::exception& e) {
            throw std::runtime_error(fmt::format("{} has failed: {}", nameOf(end->link()), e.what()));
        }
    }
}

std::optional<DataChannel::Arrived> DeviceDataChannel::take(Rank from, const MessageKey& key) {
    if (aborted_) return std::nullopt;
    std::optional<Tensor> tensor = endFor(labelOf(from, self_, key)).take(from, key);
    if (!tensor) return std::nullopt;
    return Arrived{std::move(*tensor), std::nullopt};
}

bool DeviceDataChannel::busy() const {
    return !aborted_ && std::ranges::any_of(ends_, [](const auto& end) { return end->busy(); });
}

void DeviceDataChannel::abort() {
    if (std::exchange(aborted_, true)) return;
    joining_.reset();
    for (const auto& end : ends_)
        end->abort();
}

} // namespace bubblescope::runtime
