#include "runtime/launch/session.h"

#include "runtime/launch/launcher.h"
#include "runtime/launch/tcp_team.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bubblescope {
namespace {

class SingleProcess : public LaunchSession {
public:
    SingleProcess(int rank, int size) : LaunchSession(rank, size) {}
};

class TcpSession final : public LaunchSession {
public:
    explicit TcpSession(std::unique_ptr<TcpTeam> team)
        : LaunchSession(team->rank(), team->size()), team_(std::move(team)) {}
    [[nodiscard]] ProcessTeam* team() override { return team_.get(); }

private:
    std::unique_ptr<TcpTeam> team_;
};

Result<std::unique_ptr<LaunchSession>> joinByTcp() {
    constexpr std::chrono::minutes kPatience{1};
    BUBBLESCOPE_ASSIGN(const TcpJob job, tcpJobOf(ownEnvironment));
    if (job.rank == 0 && job.guessable && !net::Address{job.host, job.port}.isLoopback()) {
        std::fprintf(stderr, "bubblescope: anyone who knows the job ID can join the job; give all processes the same "
                             "secret in BUBBLESCOPE_TOKEN or BUBBLESCOPE_TOKEN_FILE\n");
    }
    BUBBLESCOPE_ASSIGN(std::unique_ptr<TcpTeam> team, TcpTeam::join(job, kPatience));
    return std::unique_ptr<LaunchSession>(std::make_unique<TcpSession>(std::move(team)));
}

} // namespace

void LaunchSession::abort(int exit_code) {
    std::_Exit(exit_code);
}

Result<std::unique_ptr<LaunchSession>> LaunchSession::start(bool by_itself) {
    const auto launched = launchedAs();
    if (by_itself && (!launched || !builtWithMpi())) return joinByTcp();
    if (!launched) return std::unique_ptr<LaunchSession>(std::make_unique<SingleProcess>(0, 1));
    if (builtWithMpi()) return startMpi();
    // The processes cannot communicate, but each knows its rank.
    return std::unique_ptr<LaunchSession>(
        std::make_unique<SingleProcess>(launched->rank.value_or(0), launched->size.value_or(1)));
}

} // namespace bubblescope
