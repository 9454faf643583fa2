#include "runtime/launch/session.h"

// Replaces mpi_session.cpp in a build without MPI.
namespace bubblescope {

bool builtWithMpi() {
    return false;
}

Result<std::unique_ptr<LaunchSession>> startMpi() {
    return runError("this program was built without MPI", "install MPI (Debian: libopenmpi-dev) and rebuild");
}

} // namespace bubblescope
