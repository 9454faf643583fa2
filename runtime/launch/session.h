#pragma once

#include "core/base/process_team.h"

#include <memory>

namespace bubblescope {

/// This process's participation in a job with several processes, for the duration of main(). Starts MPI if a launcher
/// started the process and the program was built with MPI; a program that was started directly never uses MPI. There is
/// at most one session, on the main thread.
class LaunchSession {
public:
    /// If `by_itself` is set without MPI, the process connects over TCP to the processes that torchrun or srun started,
    /// and waits up to a minute for them. Errors: Run, if MPI does not start; see also tcpJobOf() and TcpTeam::join().
    [[nodiscard]] static Result<std::unique_ptr<LaunchSession>> start(bool by_itself = false);

    /// Leaves the job in an orderly way: waits until all processes have reached this point. During stack unwinding, the
    /// other processes may be waiting for this process elsewhere, so all processes are ended.
    virtual ~LaunchSession() = default;
    LaunchSession(const LaunchSession&) = delete;
    LaunchSession& operator=(const LaunchSession&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] bool isRoot() const { return rank_ == 0; }

    /// True if MPI runs in this process, including a single process that mpirun started.
    [[nodiscard]] virtual bool hasMpi() const { return false; }

    /// The job's processes; null for a single process.
    [[nodiscard]] virtual ProcessTeam* team() { return nullptr; }

    /// Ends all processes of the job immediately, with this exit code. Use this if the other processes cannot be
    /// notified.
    [[noreturn]] virtual void abort(int exit_code);

protected:
    LaunchSession(int rank, int size) : rank_(rank), size_(size) {}

private:
    int rank_;
    int size_;
};

/// True if this program supports jobs with several processes.
[[nodiscard]] bool builtWithMpi();

/// Keeps MPI initialised, from MPI_Init_thread to MPI_Finalize. Error: Run, if MPI does not start or is not built in.
[[nodiscard]] Result<std::unique_ptr<LaunchSession>> startMpi();

} // namespace bubblescope
