#include "runtime/launch/session.h"
#include "tests/mpi/team_checks.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

// team_program SIZE: one of SIZE processes that mpirun started; each checks what the team gives it. With "leave" as
// second argument the last one ends all of them while the others wait.
int main(int argc, char** argv) {
    using namespace bubblescope;
    const auto started = LaunchSession::start();
    if (!started.ok()) return std::fprintf(stderr, "%s\n", started.error().text().c_str()), 1;
    LaunchSession& session = *started.value();
    if (!session.hasMpi() || argc < 2 || session.size() != std::atoi(argv[1]))
        return std::fprintf(stderr, "not started as expected: %d processes\n", session.size()), 1;
    if (argc > 2 && std::string_view(argv[2]) == "leave" && session.rank() == session.size() - 1) session.abort(7);
    const std::string wrong = test::checkTeam(*session.team());
    if (!wrong.empty()) return std::fprintf(stderr, "rank %d: %s\n", session.rank(), wrong.c_str()), 1;
    return 0;
}
