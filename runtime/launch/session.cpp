#include "runtime/launch/session.h"

#include "runtime/launch/launcher.h"
#include "runtime/launch/mpi_session.h"

#include <cstdlib>

namespace bubblescope {
namespace {

class SingleProcess : public LaunchSession {
public:
    SingleProcess(int rank, int size) : LaunchSession(rank, size) {}
};

} // namespace

void LaunchSession::abort(int exit_code) {
    std::_Exit(exit_code);
}

Result<std::unique_ptr<LaunchSession>> LaunchSession::start() {
    const auto launched = launchedAs();
    if (!launched) return std::unique_ptr<LaunchSession>(std::make_unique<SingleProcess>(0, 1));
    if (builtWithMpi()) return startMpi();
    // Its processes cannot talk to each other, but each knows which it is.
    return std::unique_ptr<LaunchSession>(
        std::make_unique<SingleProcess>(launched->rank.value_or(0), launched->size.value_or(1)));
}

} // namespace bubblescope
