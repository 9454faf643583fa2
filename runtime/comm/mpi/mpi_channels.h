#pragma once

#include "core/schedule/schedule.h"
#include "runtime/comm/control_channel.h"
#include "runtime/comm/data_channel.h"
#include "runtime/comm/message.h"
#include "runtime/model/data_plan.h"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A duplicate of a communicator that returns its errors.
class MpiComm {
public:
    explicit MpiComm(MPI_Comm of) {
        MPI_Comm_dup(of, &comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    MpiComm(const MpiComm&) = delete;
    MpiComm& operator=(const MpiComm&) = delete;
    ~MpiComm() {
        if (free_) MPI_Comm_free(&comm_);
    }

    [[nodiscard]] MPI_Comm get() const { return comm_; }
    /// To free a communicator takes all its processes: to be said when all are about to.
    void freeAtEnd() { free_ = true; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool free_ = false;
};

/// Numbers for what messages are for, so that MPI can match them: of the messages from one rank to another within a
/// step no two share one.
class TagPlan {
public:
    TagPlan(const Schedule& schedule, const DataPlan& plan)
        : stages_(schedule.stages()), microbatches_(std::max(schedule.microbatches, plan.routes())),
          slices_(plan.slices()), routes_(plan.routes()) {}

    [[nodiscard]] std::int64_t tagOf(const MessageKey& key) const {
        if (key.content == Content::Part) return partsFrom() + key.sequence;
        // The sum of a stage's gradients names no micro-batch, but comes from each pipeline's copy of it.
        const bool sum = key.content == Content::GradientSum;
        const int microbatch = sum ? key.producer.value % routes_ : key.microbatch.value;
        const std::int64_t piece = static_cast<std::int64_t>(microbatch) * slices_ + key.sequence;
        const std::int64_t place = static_cast<std::int64_t>(key.content) * stages_ + key.consumer.value;
        return place * microbatches_ * slices_ + piece;
    }

    /// Of mail, which its order identifies.
    [[nodiscard]] std::int64_t mailTag() const { return partsFrom() + kPartsUnderWay; }
    /// All tags are below.
    [[nodiscard]] std::int64_t end() const { return mailTag() + 1; }

private:
    [[nodiscard]] std::int64_t partsFrom() const {
        constexpr std::int64_t kPlacedContents = 3;
        return kPlacedContents * stages_ * microbatches_ * slices_;
    }

    std::int64_t stages_;
    std::int64_t microbatches_;
    std::int64_t slices_;
    int routes_;
};

/// Control messages by MPI, so small that it passes them on without an answer of the receiver.
class MpiControlChannel final : public ControlChannel {
public:
    /// On a duplicate of `of`, which all its processes make together.
    explicit MpiControlChannel(MPI_Comm of);
    ~MpiControlChannel() override;

    void send(Rank to, const ControlMessage& message) override;
    [[nodiscard]] std::optional<Received> receive() override;
    void closeTogether() override { comm_.freeAtEnd(); }

private:
    struct Send {
        MPI_Request request = MPI_REQUEST_NULL;
        ControlMessage message;
    };

    MpiComm comm_;
    std::list<Send> sends_;
    ControlMessage buffer_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Tensors by MPI, from and to the host's memory. Buffers are kept until MPI is through with them and then used again.
/// Receives are posted ahead once a message of the same place has told its size, so from the second step on; before
/// that a message is taken when it is found. Only the next few are posted at a time: each holds a buffer, however long
/// its message takes to come. Times are not translated.
class MpiDataChannel final : public DataChannel {
public:
    /// On a duplicate of `of`, which all its processes make together.
    MpiDataChannel(MPI_Comm of, const TagPlan& tags);
    ~MpiDataChannel() override;

    /// Posts receives for messages whose size is known, the first ones at once, others when those have come.
    void expect(std::span<const Expected> messages) override;
    void send(Rank to, const MessageKey& key, Message message) override;
    void progress() override;
    [[nodiscard]] std::optional<Arrived> take(Rank from, const MessageKey& key) override;
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) const override;
    /// An incoming message needs progress too, but the rank that waits for it makes it.
    [[nodiscard]] bool busy() const override { return !sends_.empty() || !mail_out_.empty() || !mail_in_.empty(); }
    void closeTogether() override { comm_.freeAtEnd(); }
    [[nodiscard]] bool carriesMail() const override { return true; }
    void post(Mail mail) override;
    [[nodiscard]] std::optional<Mail> takeMail() override;

private:
    using Label = std::pair<int, int>; ///< rank, tag
    using Buffer = std::vector<std::byte>;

    struct Send {
        MPI_Request request = MPI_REQUEST_NULL;
        Buffer buffer;
    };
    struct Incoming {
        MPI_Request request = MPI_REQUEST_NULL;
        Buffer buffer;
    };

    /// Its times follow the bytes, so that these need no copy.
    struct MovingMail {
        MPI_Request request = MPI_REQUEST_NULL;
        Rank from;
        std::string bytes;
    };

    [[nodiscard]] Label labelOf(Rank peer, const MessageKey& key) const {
        return {peer.value, static_cast<int>(tags_.tagOf(key))};
    }
    [[nodiscard]] Buffer freeBuffer(std::size_t bytes);
    void postNext();
    void findUnexpected();
    void moveMail();

    MpiComm comm_;
    TagPlan tags_;
    std::list<Send> sends_;
    std::deque<Label> expected_;         ///< not posted yet
    std::map<Label, Incoming> incoming_; ///< posted or found, not complete
    std::map<Label, Message> arrived_;
    std::map<Label, std::size_t> sizes_; ///< of earlier messages of the same label
    std::vector<Buffer> free_;
    std::list<MovingMail> mail_out_;
    std::list<MovingMail> mail_in_; ///< found, not complete
    std::deque<Mail> mail_here_;
};

} // namespace bubblescope::runtime
