#include "runtime/launch/mpi_session.h"

#include "runtime/launch/mpi_team.h"

#include <array>
#include <cstdlib>
#include <exception>
#include <optional>

namespace bubblescope {
namespace {

constexpr int kUnexpected = 4; // exit code of main() for an exception

int rankInWorld() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int sizeOfWorld() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

class MpiSession final : public LaunchSession {
public:
    explicit MpiSession(int threads)
        : LaunchSession(rankInWorld(), sizeOfWorld()), threads_(threads), exceptions_(std::uncaught_exceptions()),
          team_(MPI_COMM_WORLD) {}

    ~MpiSession() override {
        if (std::uncaught_exceptions() > exceptions_) MpiSession::abort(kUnexpected);
        team_.reset();
        MPI_Finalize();
    }

    [[nodiscard]] bool hasMpi() const override { return true; }
    [[nodiscard]] bool threadsMayCommunicate() const override { return threads_ == MPI_THREAD_MULTIPLE; }
    [[nodiscard]] std::string library() const override {
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
        int length = 0;
        MPI_Get_library_version(text.data(), &length);
        const std::string whole(text.data(), static_cast<std::size_t>(length));
        return whole.substr(0, whole.find_first_of(",\n"));
    }
    [[nodiscard]] ProcessTeam* team() override { return &*team_; }

    [[noreturn]] void abort(int exit_code) override {
        MPI_Abort(MPI_COMM_WORLD, exit_code);
        std::_Exit(exit_code);
    }

private:
    int threads_;
    int exceptions_;
    std::optional<MpiTeam> team_;
};

} // namespace

bool builtWithMpi() {
    return true;
}

Result<std::unique_ptr<LaunchSession>> startMpi() {
    int threads = MPI_THREAD_SINGLE;
    BUBBLESCOPE_TRY(mpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "start"));
    return std::unique_ptr<LaunchSession>(std::make_unique<MpiSession>(threads));
}

} // namespace bubblescope
