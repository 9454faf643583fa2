#pragma once

#include "runtime/comm/control_channel.h"
#include "runtime/comm/mpi/mpi_comm.h"

#include <list>
#include <optional>

namespace bubblescope::runtime {

/// Control messages by MPI, so small that it passes them on without an answer of the receiver.
class MpiControl final : public ControlChannel {
public:
    /// On a communicator of its own, which all processes of `of` make together.
    explicit MpiControl(MPI_Comm of);
    ~MpiControl() override;

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

} // namespace bubblescope::runtime
