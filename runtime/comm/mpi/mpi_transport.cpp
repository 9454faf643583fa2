#include "runtime/comm/mpi/mpi_channels.h"

#include "runtime/clock/host_clock.h"
#include "runtime/comm/mpi/mpi_job.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

namespace bubblescope::runtime {
namespace {

std::int64_t tagBound(MPI_Comm comm) {
    void* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found);
    constexpr std::int64_t kLeast = 32767;
    return found != 0 ? *static_cast<int*>(value) : kLeast;
}

bool hasNativeClock(MPI_Comm comm, const std::string& name) {
    std::array<char, 64> own{};
    name.copy(own.data(), own.size() - 1);
    std::array<char, 64> root = own;
    MPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_CHAR, 0, comm);
    return own != root;
}

} // namespace

Status checkMpiThreads() {
    int threads = MPI_THREAD_SINGLE;
    MPI_Query_thread(&threads);
    if (threads >= MPI_THREAD_SERIALIZED) return {};
    return runError("this MPI library allows only one communicating thread per process",
                    "use an MPI library built with MPI_THREAD_MULTIPLE");
}

Result<std::unique_ptr<ProcessTransport>> openMpiTransport(MPI_Comm of, const MpiTransportConfig& config) {
    BUBBLESCOPE_TRY(checkMpiThreads());
    if (const std::int64_t most = tagBound(of); config.tags.end() > most) {
        return runError(
            fmt::format("the schedule has {} different messages, but this MPI library supports only {} tags",
                        config.tags.end(), most));
    }
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(of, &rank);
    MPI_Comm_size(of, &size);
    auto data = std::make_unique<MpiDataChannel>(of, config.tags);
    const bool own_clock = hasNativeClock(of, config.clock_name.empty() ? systemClockName() : config.clock_name);
    return ProcessTransport::open({.rank = Rank{rank},
                                   .size = size,
                                   .clock = config.clock,
                                   .timeout = config.timeout,
                                   .own_clock = own_clock,
                                   .data = std::move(data),
                                   .control = std::make_unique<MpiControlChannel>(of),
                                   .board = config.board});
}

Result<std::unique_ptr<ProcessTransport>> openMpiJobTransport(const Schedule& schedule, const DataPlan& plan,
                                                              HostClock& clock, TimeNs timeout,
                                                              std::shared_ptr<ActivityBoard> board) {
    return openMpiTransport(MPI_COMM_WORLD, {TagPlan(schedule, plan), clock, timeout, {}, std::move(board)});
}

Result<std::unique_ptr<ControlChannel>> openMpiJobControl() {
    BUBBLESCOPE_TRY(checkMpiThreads());
    return std::unique_ptr<ControlChannel>(std::make_unique<MpiControlChannel>(MPI_COMM_WORLD));
}

} // namespace bubblescope::runtime
