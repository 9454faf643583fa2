#pragma once

#include "runtime/backend/accelerator/rank_queue.h"
#include "runtime/comm/nccl/link_plan.h"
#include "runtime/comm/nccl/peer_library.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// What the array of a message looks like, which its receiver must know beforehand.
struct ArrayShape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Storage storage = Storage::Float;

    [[nodiscard]] std::int64_t bytes() const { return rows * columns * bytesOf(storage); }
};

/// What all channels of a rank share.
struct LinkContext {
    std::shared_ptr<PeerLibrary> library;
    std::shared_ptr<RankQueue> queue;
    std::function<ArrayShape(const MessageKey&)> shape_of;
    bool paced = false; ///< arrivals are noted on the device, so that a latency can be added
};

/// A rank's end of one link: a communicator, its stream, and the messages to be transferred. Nothing here waits; every
/// call starts what can be started. One thread at a time. Failures are exceptions.
class NcclChannel {
public:
    NcclChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    NcclChannel(const NcclChannel&) = delete;
    NcclChannel& operator=(const NcclChannel&) = delete;
    virtual ~NcclChannel();

    [[nodiscard]] const PeerLink& link() const { return link_; }

    /// One step more is going to be run.
    virtual void expect() {}
    virtual void send(Rank to, const MessageKey& key, Tensor tensor);
    /// What has come, or is queued to come; nothing yet.
    [[nodiscard]] virtual std::optional<Tensor> take(Rank from, const MessageKey& key);
    virtual void progress() = 0;
    /// Something is under way that needs progress().
    [[nodiscard]] virtual bool busy() const = 0;
    void abort() noexcept { comm_->abort(); }
    /// Waits for the stream and lets go of all tensors. To be called on all ends before the first is gone: what one
    /// sends may lie in another's memory, for ops hand on what they were given.
    virtual void letGo() noexcept;

protected:
    /// A transfer into memory of this rank that is queued.
    struct Incoming {
        Buffer buffer;
        ArrayShape shape;
        std::shared_ptr<DeviceArrival> arrival;
    };
    struct Outgoing {
        Tensor tensor; ///< its memory is in use until the transfer is done
        Accelerator::Event done = nullptr;
    };

    [[nodiscard]] Accelerator& device() const { return context_.queue->device(); }
    [[nodiscard]] int placeOf(Rank rank) const;
    [[nodiscard]] Incoming prepare(const MessageKey& key);
    /// Inside a group.
    void queueSend(const Tensor& tensor, Rank to);
    void queueReceive(const Incoming& incoming, Rank from);
    /// The communicator is ready: notes when the transfer is there.
    [[nodiscard]] Tensor landed(Incoming incoming);
    /// The communicator is ready: keeps what was sent until it is gone.
    void sent(Tensor tensor);
    /// Lets go of what is gone.
    void forgetSent();
    [[nodiscard]] bool sending() const { return !outgoing_.empty(); }

    LinkContext context_;
    PeerLink link_;
    Rank self_;
    Accelerator::Stream stream_;
    MemoryPool memory_; ///< home: stream_
    std::unique_ptr<PeerComm> comm_;
    std::deque<Outgoing> outgoing_;
};

/// Sends what it is given, in that order, each as soon as it is computed.
class SendChannel final : public NcclChannel {
public:
    using NcclChannel::NcclChannel;
    void send(Rank to, const MessageKey& key, Tensor tensor) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return !waiting_.empty() || issued_ || sending(); }
    void letGo() noexcept override;

private:
    std::size_t given_ = 0; ///< messages so far
    std::deque<Tensor> waiting_;
    std::optional<Tensor> issued_; ///< the communicator is at it
};

/// Receives in the sender's order: some messages ahead of need, and always up to the one that is asked for, so that it
/// never keeps a message waiting that the rank needs behind one that it does not need yet.
class ReceiveChannel final : public NcclChannel {
public:
    ReceiveChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    void expect() override { limit_ += link_.messages.size(); }
    [[nodiscard]] std::optional<Tensor> take(Rank from, const MessageKey& key) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return issued_.has_value() || wanted() > begun_; }
    void letGo() noexcept override;

private:
    [[nodiscard]] std::size_t wanted() const;

    std::map<MessageKey, std::size_t> place_of_; ///< in a step
    std::map<MessageKey, Tensor> ready_;
    std::size_t limit_ = 0;    ///< messages in all steps that were announced
    std::size_t begun_ = 0;    ///< receives queued so far
    std::size_t taken_ = 0;    ///< messages taken so far
    std::size_t demanded_ = 0; ///< messages up to the last one that was asked for
    std::optional<Incoming> issued_;
};

/// Exchanges all messages of a step at once, when all that this rank sends are there.
class ExchangeChannel final : public NcclChannel {
public:
    ExchangeChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    void send(Rank to, const MessageKey& key, Tensor tensor) override;
    [[nodiscard]] std::optional<Tensor> take(Rank from, const MessageKey& key) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return issued_ || sending(); }
    void letGo() noexcept override;

private:
    using Label = std::pair<Rank, MessageKey>; ///< the peer

    void issue();

    std::size_t sends_ = 0; ///< in a step
    std::map<Label, Tensor> given_;
    std::map<Label, Incoming> coming_;
    std::map<Label, Tensor> ready_;
    bool issued_ = false;
};

} // namespace bubblescope::runtime
