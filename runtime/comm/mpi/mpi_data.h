#pragma once

#include "runtime/comm/data_channel.h"
#include "runtime/comm/mpi/mpi_comm.h"
#include "runtime/comm/mpi/tag_plan.h"

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Tensors by MPI, from and to the host's memory. Buffers are kept until MPI is through with them and then used again.
/// Receives are posted ahead once a message of the same place has told its size, so from the second step on; before
/// that a message is taken when it is found. Only the next few are posted at a time: each holds a buffer, however long
/// its message takes to come. Times pass as they are.
class MpiData final : public DataChannel {
public:
    /// On a communicator of its own, which all processes of `of` make together.
    MpiData(MPI_Comm of, const TagPlan& tags);
    ~MpiData() override;

    /// Posts receives for messages whose size is known, the first ones at once, others when those have come.
    void expect(std::span<const Expected> messages) override;
    void send(Rank to, const MessageKey& key, Message message) override;
    void progress() override;
    [[nodiscard]] std::optional<Arrived> take(Rank from, const MessageKey& key) override;
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) const override;
    /// A message that comes needs progress too, but it is looked for by whoever waits for it.
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

    /// Its times stand behind the bytes, so that these need no copy.
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
