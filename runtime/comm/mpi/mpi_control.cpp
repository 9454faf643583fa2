#include "runtime/comm/mpi/mpi_control.h"

#include <type_traits>

namespace bubblescope::runtime {
namespace {

static_assert(std::is_trivially_copyable_v<ControlMessage>);
constexpr int kBytes = sizeof(ControlMessage);
constexpr int kTag = 1;

} // namespace

MpiControl::MpiControl(MPI_Comm of) : comm_(of) {
    MPI_Irecv(&buffer_, kBytes, MPI_BYTE, MPI_ANY_SOURCE, kTag, comm_.get(), &request_);
}

MpiControl::~MpiControl() {
    if (request_ != MPI_REQUEST_NULL) {
        MPI_Cancel(&request_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE); // at once: messages as small as these come whole or not at all
    }
    for (Send& send : sends_) {
        int complete = 0;
        if (MPI_Test(&send.request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
            MPI_Request_free(&send.request); // small: MPI has its copy
    }
}

void MpiControl::send(Rank to, const ControlMessage& message) {
    sends_.remove_if([](Send& send) {
        int complete = 0;
        return MPI_Test(&send.request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS || complete != 0;
    });
    Send& send = sends_.emplace_back();
    send.message = message;
    MPI_Isend(&send.message, kBytes, MPI_BYTE, to.value, kTag, comm_.get(), &send.request);
}

std::optional<ControlChannel::Received> MpiControl::receive() {
    if (request_ == MPI_REQUEST_NULL) return std::nullopt;
    int complete = 0;
    MPI_Status status;
    if (MPI_Test(&request_, &complete, &status) != MPI_SUCCESS || complete == 0) return std::nullopt;
    const Received received{Rank{status.MPI_SOURCE}, buffer_};
    MPI_Irecv(&buffer_, kBytes, MPI_BYTE, MPI_ANY_SOURCE, kTag, comm_.get(), &request_);
    return received;
}

} // namespace bubblescope::runtime
