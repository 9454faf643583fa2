#pragma once

#include "core/base/error.h"
#include "runtime/transport/activity.h"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <list>
#include <optional>

namespace bubblescope::runtime {

/// What processes tell each other besides tensors. Small and of one size, so that MPI passes it on without an answer of
/// the receiver. All processes of a job run the same program on machines of one kind.
struct ControlMessage {
    enum class Kind : std::uint8_t {
        Alive, ///< what the sender is at; times are ages
        Meet,  ///< to the root: the sender's time
        Met,   ///< from the root: the latest of all
        Ping,  ///< asks for the receiver's clock
        Pong,  ///< and is answered by it
        Ended, ///< the run ends early, and why
        Bye,   ///< the sender knows that it has, and needs nobody any more
    };

    Kind kind = Kind::Alive;
    ErrorKind error_kind = ErrorKind::Run;
    Activity activity;
    std::int64_t round = 0;
    std::array<std::int64_t, 3> times{};
    std::array<char, 640> message{}; ///< of an error; texts end with a 0
    std::array<char, 256> hint{};
};

/// Control messages between processes. Nothing here waits. One thread at a time.
class ControlChannel {
public:
    struct Received {
        Rank from;
        ControlMessage message;
    };

    /// `comm` must outlive the channel and carry nothing else; its errors must be returned.
    explicit ControlChannel(MPI_Comm comm);
    ControlChannel(const ControlChannel&) = delete;
    ControlChannel& operator=(const ControlChannel&) = delete;
    ~ControlChannel();

    void send(Rank to, const ControlMessage& message);

    /// The next message that has come, if there is one.
    [[nodiscard]] std::optional<Received> receive();

private:
    struct Send {
        MPI_Request request = MPI_REQUEST_NULL;
        ControlMessage message;
    };

    MPI_Comm comm_;
    std::list<Send> sends_;
    ControlMessage buffer_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

} // namespace bubblescope::runtime
