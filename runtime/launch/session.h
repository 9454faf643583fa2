#pragma once

#include "core/base/process_team.h"

#include <memory>
#include <string>

namespace bubblescope {

/// This process's participation in a job of several, for the duration of main(). Starts MPI if a launcher started the
/// process and the program was built with MPI; a program that is called directly never touches MPI. There is one, on
/// the main thread.
class LaunchSession {
public:
    /// `by_itself`: without MPI the process joins the others that torchrun or srun started by TCP, and waits for them
    /// for a minute. Errors: Run, if MPI does not start; those of tcpJobOf() and TcpTeam::join().
    [[nodiscard]] static Result<std::unique_ptr<LaunchSession>> start(bool by_itself = false);

    /// Leaves the job in an orderly way: waits until all processes have come here. While an exception unwinds the
    /// stack, the others may wait for this process elsewhere: then it ends all of them.
    virtual ~LaunchSession() = default;
    LaunchSession(const LaunchSession&) = delete;
    LaunchSession& operator=(const LaunchSession&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] bool isRoot() const { return rank_ == 0; }

    /// Whether MPI runs in this process; also for a single process, if mpirun started it.
    [[nodiscard]] virtual bool hasMpi() const { return false; }
    /// Whether any thread may call MPI at any time (MPI_THREAD_MULTIPLE); otherwise only the main thread may.
    [[nodiscard]] virtual bool threadsMayCommunicate() const { return false; }
    /// The MPI library's description of itself; empty without MPI.
    [[nodiscard]] virtual std::string library() const { return {}; }

    /// The job's processes; null for a single process.
    [[nodiscard]] virtual ProcessTeam* team() { return nullptr; }

    /// Ends all processes of the job at once, with this exit code. For when the others cannot be notified.
    [[noreturn]] virtual void abort(int exit_code);

protected:
    LaunchSession(int rank, int size) : rank_(rank), size_(size) {}

private:
    int rank_;
    int size_;
};

/// Whether this program can be one of several processes.
[[nodiscard]] bool builtWithMpi();

/// MPI from MPI_Init_thread to MPI_Finalize. Error: Run, if MPI does not start or is not built in.
[[nodiscard]] Result<std::unique_ptr<LaunchSession>> startMpi();

} // namespace bubblescope
