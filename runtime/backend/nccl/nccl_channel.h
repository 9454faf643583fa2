#pragma once

#include "runtime/backend/nccl/link_plan.h"
#include "runtime/backend/nccl/peer_library.h"
#include "runtime/backend/rank_queue.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// The shape of the array in a message, which the receiver must know in advance.
struct ArrayShape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Storage storage = Storage::Float;

    [[nodiscard]] std::int64_t bytes() const { return rows * columns * bytesOf(storage); }
};

/// State shared by all channels of a rank.
struct LinkContext {
    std::shared_ptr<PeerLibrary> library;
    std::shared_ptr<RankQueue> queue;
    std::function<ArrayShape(const MessageKey&)> shape_of;
    bool paced = false; ///< true to record arrivals on the device, so that a latency can be added
};

/// A rank's end of one link: a communicator, its stream, and the messages to transfer. No call blocks; each call starts
/// all transfers that can start. Not thread-safe. Failures are reported as exceptions.
class NcclChannel {
public:
    NcclChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    NcclChannel(const NcclChannel&) = delete;
    NcclChannel& operator=(const NcclChannel&) = delete;
    virtual ~NcclChannel();

    [[nodiscard]] const PeerLink& link() const { return link_; }

    /// Announces that one more step will be run.
    virtual void expect() {}
    virtual void send(Rank to, const MessageKey& key, Tensor tensor);
    /// A message that has arrived or whose transfer is queued; nothing if the message is not available yet.
    [[nodiscard]] virtual std::optional<Tensor> take(Rank from, const MessageKey& key);
    virtual void progress() = 0;
    /// True if a pending transfer needs progress().
    [[nodiscard]] virtual bool busy() const = 0;
    void abort() noexcept { comm_->abort(); }
    /// Waits for the stream and releases all tensors. Call this on all ends before any of them is destroyed: a tensor
    /// that one end sends may be in another end's memory, because ops pass on their inputs.
    virtual void releaseTensors() noexcept;

protected:
    /// A queued transfer into memory of this rank.
    struct Incoming {
        Buffer buffer;
        ArrayShape shape;
        std::shared_ptr<DeviceArrival> arrival;
    };
    struct Outgoing {
        Tensor tensor; ///< the memory is in use until the transfer is done
        Accelerator::Event done = nullptr;
    };

    [[nodiscard]] Accelerator& device() const { return context_.queue->device(); }
    [[nodiscard]] int placeOf(Rank rank) const;
    [[nodiscard]] Incoming prepare(const MessageKey& key);
    /// Call this inside a group.
    void queueSend(const Tensor& tensor, Rank to);
    void queueReceive(const Incoming& incoming, Rank from);
    /// Call this when the communicator is ready. Records the arrival of the transfer.
    [[nodiscard]] Tensor landed(Incoming incoming);
    /// Call this when the communicator is ready. Keeps a sent tensor until its transfer is done.
    void sent(Tensor tensor);
    /// Returns the tensors of completed transfers to the rank's thread; the caller may be another thread.
    void releaseSent();
    [[nodiscard]] bool sending() const { return !outgoing_.empty(); }

    LinkContext context_;
    PeerLink link_;
    Rank self_;
    Accelerator::Stream stream_;
    MemoryPool memory_; ///< pool of the link; its home stream is stream_
    std::unique_ptr<PeerComm> comm_;
    std::deque<Outgoing> outgoing_;
};

/// Sends messages in the given order, each as soon as it is computed.
class SendChannel final : public NcclChannel {
public:
    using NcclChannel::NcclChannel;
    void send(Rank to, const MessageKey& key, Tensor tensor) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return !waiting_.empty() || issued_ || sending(); }
    void releaseTensors() noexcept override;

private:
    std::size_t given_ = 0; ///< number of messages passed to send() so far
    std::deque<Tensor> waiting_;
    std::optional<Tensor> issued_; ///< currently being submitted to the communicator
};

/// Receives in the sender's order: a few messages in advance, and always up to the requested message. A message that
/// the rank needs is thus never blocked by a message that it does not need yet.
class ReceiveChannel final : public NcclChannel {
public:
    ReceiveChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    void expect() override { limit_ += link_.messages.size(); }
    [[nodiscard]] std::optional<Tensor> take(Rank from, const MessageKey& key) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return issued_.has_value() || wanted() > begun_; }
    void releaseTensors() noexcept override;

private:
    [[nodiscard]] std::size_t wanted() const;

    std::map<MessageKey, std::size_t> place_of_; ///< index within a step
    std::map<MessageKey, Tensor> ready_;
    std::size_t limit_ = 0;    ///< number of messages in all announced steps
    std::size_t begun_ = 0;    ///< number of receives queued so far
    std::size_t taken_ = 0;    ///< number of messages taken so far
    std::size_t demanded_ = 0; ///< number of messages up to the last requested message
    std::optional<Incoming> issued_;
};

/// Exchanges all messages of a step together, as soon as this rank has computed everything that it sends.
class ExchangeChannel final : public NcclChannel {
public:
    ExchangeChannel(const LinkContext& context, const PeerLink& link, Rank self, std::unique_ptr<PeerComm> comm);
    void send(Rank to, const MessageKey& key, Tensor tensor) override;
    [[nodiscard]] std::optional<Tensor> take(Rank from, const MessageKey& key) override;
    void progress() override;
    [[nodiscard]] bool busy() const override { return issued_ || sending(); }
    void releaseTensors() noexcept override;

private:
    using Label = std::pair<Rank, MessageKey>; ///< the peer and the message

    void issue();

    std::size_t sends_ = 0; ///< number of messages sent in a step
    std::map<Label, Tensor> given_;
    std::map<Label, Incoming> coming_;
    std::map<Label, Tensor> ready_;
    bool issued_ = false;
};

} // namespace bubblescope::runtime
