#include "runtime/launch/session.h"

#include "core/base/process_team.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

namespace bubblescope {

/// The processes of a communicator. Uses a duplicate of the communicator, so that its messages are never confused with
/// others.
class MpiTeam final : public ProcessTeam {
public:
    explicit MpiTeam(MPI_Comm of);
    ~MpiTeam() override;

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

/// The result of an MPI call as a Status; `tried` names the operation.
[[nodiscard]] Status mpiStatus(int code, const char* tried);

namespace {

// Counts are ints in MPI 3, so longer strings are sent in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;
constexpr int kTag = 1;

/// Calls visit(begin, length) for each piece of `bytes` bytes.
template <class Visit>
Status inPieces(std::size_t bytes, const Visit& visit) {
    for (std::size_t begin = 0; begin < bytes; begin += kPiece)
        BUBBLESCOPE_TRY(visit(begin, static_cast<int>(std::min(kPiece, bytes - begin))));
    return {};
}

} // namespace

Status mpiStatus(int code, const char* tried) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return runError(std::string("MPI could not ") + tried + ": " +
                    std::string(text.data(), static_cast<std::size_t>(length)));
}

MpiTeam::MpiTeam(MPI_Comm of) {
    MPI_Comm_dup(of, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiTeam::~MpiTeam() {
    MPI_Comm_free(&comm_);
}

Result<std::string> MpiTeam::broadcast(std::string bytes) {
    std::uint64_t length = bytes.size();
    BUBBLESCOPE_TRY(mpiStatus(MPI_Bcast(&length, 1, MPI_UINT64_T, 0, comm_), "broadcast a length"));
    bytes.resize(length);
    BUBBLESCOPE_TRY(inPieces(bytes.size(), [&](std::size_t begin, int count) {
        return mpiStatus(MPI_Bcast(bytes.data() + begin, count, MPI_BYTE, 0, comm_), "broadcast");
    }));
    return bytes;
}

Result<std::vector<std::string>> MpiTeam::gather(std::string bytes) {
    std::uint64_t length = bytes.size();
    std::vector<std::uint64_t> lengths(isRoot() ? static_cast<std::size_t>(size_) : 0);
    BUBBLESCOPE_TRY(
        mpiStatus(MPI_Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, 0, comm_), "gather lengths"));
    if (!isRoot()) {
        BUBBLESCOPE_TRY(inPieces(bytes.size(), [&](std::size_t begin, int count) {
            return mpiStatus(MPI_Send(bytes.data() + begin, count, MPI_BYTE, 0, kTag, comm_), "send");
        }));
        return std::vector<std::string>{};
    }
    std::vector<std::string> all(lengths.size());
    all[0] = std::move(bytes);
    // One after another, so that the root holds only one additional copy of the bytes.
    for (int from = 1; from < size_; ++from) {
        std::string& its = all[static_cast<std::size_t>(from)];
        its.resize(lengths[static_cast<std::size_t>(from)]);
        BUBBLESCOPE_TRY(inPieces(its.size(), [&](std::size_t begin, int count) {
            return mpiStatus(MPI_Recv(its.data() + begin, count, MPI_BYTE, from, kTag, comm_, MPI_STATUS_IGNORE),
                             "receive");
        }));
    }
    return all;
}

Result<std::vector<std::string>> MpiTeam::exchange(std::vector<std::string> to) {
    const auto members = static_cast<std::size_t>(size_);
    if (to.size() != members) return runError("an exchange needs one string per process");
    std::vector<std::uint64_t> out(members);
    std::vector<std::uint64_t> in(members);
    std::ranges::transform(to, out.begin(), [](const std::string& text) { return text.size(); });
    BUBBLESCOPE_TRY(
        mpiStatus(MPI_Alltoall(out.data(), 1, MPI_UINT64_T, in.data(), 1, MPI_UINT64_T, comm_), "exchange lengths"));
    std::vector<std::string> all(members);
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < size_; ++peer) {
        const auto index = static_cast<std::size_t>(peer);
        if (peer == rank_) {
            all[index] = std::move(to[index]);
            continue;
        }
        all[index].resize(in[index]);
        BUBBLESCOPE_TRY(inPieces(in[index], [&](std::size_t begin, int count) {
            return mpiStatus(MPI_Irecv(all[index].data() + begin, count, MPI_BYTE, peer, kTag, comm_,
                                       &requests.emplace_back(MPI_REQUEST_NULL)),
                             "receive");
        }));
        BUBBLESCOPE_TRY(inPieces(out[index], [&](std::size_t begin, int count) {
            return mpiStatus(MPI_Isend(to[index].data() + begin, count, MPI_BYTE, peer, kTag, comm_,
                                       &requests.emplace_back(MPI_REQUEST_NULL)),
                             "send");
        }));
    }
    BUBBLESCOPE_TRY(
        mpiStatus(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "exchange"));
    return all;
}

namespace {

constexpr int kUnexpected = 4; // exit code of main() after an exception

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
    MpiSession()
        : LaunchSession(rankInWorld(), sizeOfWorld()), exceptions_(std::uncaught_exceptions()), team_(MPI_COMM_WORLD) {}

    ~MpiSession() override {
        if (std::uncaught_exceptions() > exceptions_) MpiSession::abort(kUnexpected);
        team_.reset();
        MPI_Finalize();
    }

    [[nodiscard]] bool hasMpi() const override { return true; }
    [[nodiscard]] ProcessTeam* team() override { return &*team_; }

    [[noreturn]] void abort(int exit_code) override {
        MPI_Abort(MPI_COMM_WORLD, exit_code);
        std::_Exit(exit_code);
    }

private:
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
    return std::unique_ptr<LaunchSession>(std::make_unique<MpiSession>());
}

} // namespace bubblescope
