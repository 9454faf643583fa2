#pragma once

#include <mpi.h>

namespace bubblescope::runtime {

/// A communicator of one's own whose errors are returned.
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

} // namespace bubblescope::runtime
