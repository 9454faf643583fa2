#pragma once

#include "runtime/transport/message.h"
#include "runtime/transport/mpi/tag_plan.h"

#include <mpi.h>

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Tensors between processes. Nothing here waits: every call starts what can be started and looks after what was.
/// Buffers are kept until MPI is through with them and then used again. Receives are posted ahead once a message of the
/// same place has told its size, so from the second step on; before that a message is taken when it is found.
///
/// One thread at a time. Times pass as they are.
class DataChannel {
public:
    /// `comm` must outlive the channel and carry nothing else; its errors must be returned.
    DataChannel(MPI_Comm comm, const TagPlan& tags);
    DataChannel(const DataChannel&) = delete;
    DataChannel& operator=(const DataChannel&) = delete;
    /// Gives up what is under way.
    ~DataChannel();

    /// Posts receives for messages whose size is known.
    void expect(std::span<const Expected> messages);

    void send(Rank to, const MessageKey& key, const Message& message);

    /// Looks after everything under way.
    void progress();

    /// A message that has come.
    [[nodiscard]] std::optional<Message> take(Rank from, const MessageKey& key);

    /// True while something is under way that needs progress().
    [[nodiscard]] bool busy() const { return !sends_.empty() || !incoming_.empty(); }

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

    [[nodiscard]] Label labelOf(Rank peer, const MessageKey& key) const {
        return {peer.value, static_cast<int>(tags_.tagOf(key))};
    }
    [[nodiscard]] Buffer freeBuffer(std::size_t bytes);
    void findUnexpected();

    MPI_Comm comm_;
    TagPlan tags_;
    std::list<Send> sends_;
    std::map<Label, Incoming> incoming_; ///< posted or found, not complete
    std::map<Label, Message> arrived_;
    std::map<Label, std::size_t> sizes_; ///< of earlier messages of the same label
    std::vector<Buffer> free_;
};

} // namespace bubblescope::runtime
