#pragma once

#include "core/schedule/schedule.h"
#include "runtime/comm/channels.h"
#include "runtime/comm/message.h"
#include "runtime/comm/process_transport.h"
#include "runtime/model/data_plan.h"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A duplicate of a communicator that returns errors instead of aborting. The duplicate is never freed, because a
/// process may have sent a heartbeat just before the run ended. A later communicator that reused the number would
/// receive that heartbeat instead of its own message, and the run would wait forever.
class MpiComm {
public:
    explicit MpiComm(MPI_Comm of) {
        MPI_Comm_dup(of, &comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    MpiComm(const MpiComm&) = delete;
    MpiComm& operator=(const MpiComm&) = delete;

    [[nodiscard]] MPI_Comm get() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Maps the purposes of messages to MPI tags, unique among the messages from one rank to another within a step.
class TagPlan {
public:
    TagPlan(const Schedule& schedule, const DataPlan& plan)
        : stages_(schedule.stages()), microbatches_(std::max(schedule.microbatches, plan.routes())),
          slices_(plan.slices()), routes_(plan.routes()) {}

    [[nodiscard]] std::int64_t tagOf(const MessageKey& key) const {
        if (key.content == Content::Part) return partsFrom() + key.sequence;
        // The gradient sum of a stage has no micro-batch, but the stage's copy in each pipeline sends one such sum.
        const bool sum = key.content == Content::GradientSum;
        const int microbatch = sum ? key.producer.value % routes_ : key.microbatch.value;
        const std::int64_t piece = static_cast<std::int64_t>(microbatch) * slices_ + key.sequence;
        const std::int64_t place = static_cast<std::int64_t>(key.content) * stages_ + key.consumer.value;
        return place * microbatches_ * slices_ + piece;
    }

    /// The tag of mail; mail is identified by its order.
    [[nodiscard]] std::int64_t mailTag() const { return partsFrom() + kPartsUnderWay; }
    /// All tags are below this value.
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

/// Control messages over MPI. The messages are small enough for MPI to send them without waiting for the receiver.
class MpiControlChannel final : public ControlChannel {
public:
    /// Collective over `of`; the channel uses a duplicate of it.
    explicit MpiControlChannel(MPI_Comm of);
    ~MpiControlChannel() override;

    void send(Rank to, const ControlMessage& message) override;
    [[nodiscard]] std::optional<Received> receive() override;

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

/// Sends tensors over MPI, from and to host memory. Buffers are kept until MPI has finished with them, and then reused.
/// A receive is posted in advance if its size is known from an earlier message of the same kind, that is, from the
/// second step on. Before that, messages are probed. Only the next few receives are posted at a time, because each
/// occupies a buffer until its message arrives. Times are not translated.
class MpiDataChannel final : public DataChannel {
public:
    /// Collective over `of`; the channel uses a duplicate of it.
    MpiDataChannel(MPI_Comm of, const TagPlan& tags);
    ~MpiDataChannel() override;

    /// Posts receives for messages of known size: for the first messages immediately, for the others when these have
    /// arrived.
    void expect(std::span<const Expected> messages) override;
    void send(Rank to, const MessageKey& key, Message message) override;
    void progress() override;
    [[nodiscard]] std::optional<Arrived> take(Rank from, const MessageKey& key) override;
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) const override;
    /// Incoming messages need progress too, but a rank that waits for a message calls progress() itself.
    [[nodiscard]] bool busy() const override { return !sends_.empty() || !mail_out_.empty() || !mail_in_.empty(); }
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

    /// The times follow the bytes, so that the bytes need not be copied.
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
    std::map<Label, Incoming> incoming_; ///< receives that are posted or probed, but not complete
    std::map<Label, Message> arrived_;
    std::map<Label, std::size_t> sizes_; ///< sizes of earlier messages with the same label
    std::vector<Buffer> free_;
    std::list<MovingMail> mail_out_;
    std::list<MovingMail> mail_in_; ///< probed, not complete
    std::deque<Mail> mail_here_;
};

struct MpiTransportConfig {
    TagPlan tags;
    HostClock& clock;
    TimeNs timeout{0}; ///< see Watchdog
    /// Ranks with the same name share a clock. Empty = the system's name; see systemClockName().
    std::string clock_name;
    std::shared_ptr<ActivityBoard> board{}; ///< see ProcessTransportConfig
};

/// Error: Run, if MPI allows only one thread of a process to call it.
[[nodiscard]] Status checkMpiThreads();

/// The transport between the processes of an MPI job, which carries tensors and control messages. Collective: all
/// processes of the communicator must call this. Error: Run if MPI lacks a required feature.
[[nodiscard]] Result<std::unique_ptr<ProcessTransport>> openMpiTransport(MPI_Comm of, const MpiTransportConfig& config);

} // namespace bubblescope::runtime
