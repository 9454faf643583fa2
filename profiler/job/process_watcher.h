#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "profiler/capture/watcher_link.h"
#include "profiler/job/left_memory.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

/// Maps the memory of a job's processes, and saves the records that a process could not write because it was killed,
/// called _exit, or executed another program. If a process's memory cannot be mapped, the process itself reports at
/// exit how much it wrote. Runs on its own thread. Accepts only processes run by the same user.
class ProcessWatcher {
public:
    /// Error: Run.
    [[nodiscard]] static Result<std::unique_ptr<ProcessWatcher>> start(std::filesystem::path dir);
    ProcessWatcher(const ProcessWatcher&) = delete;
    ProcessWatcher& operator=(const ProcessWatcher&) = delete;
    ~ProcessWatcher();

    /// For CaptureOptions::watcher.
    [[nodiscard]] const std::string& name() const { return name_; }

    struct Report {
        std::vector<LeftByProcess> processes; ///< processes that recorded something, or tried to
        int running = 0;                      ///< number of processes that are still recording
        std::int64_t refused = 0;             ///< rejected connections from other users
        bool incomplete = false;              ///< true if resources ran out, and later processes were not watched
    };
    /// Call this once, after the job has ended. Waits at most `patience` for processes of the job that have not yet
    /// ended.
    [[nodiscard]] Report finish(std::chrono::milliseconds patience);

private:
    struct Watched {
        std::unique_ptr<EventMemory> memory; ///< null if there was no free descriptor, or no file for the memory
        int pid = 0;
        Descriptor process; ///< readable once the process has ended; closed if it ended earlier, or if no descriptor
                            ///< was free
        bool done = false;
    };

    ProcessWatcher(std::filesystem::path dir, std::string name, Descriptor listener, Descriptor stop);
    void watchWhileMemoryLasts() noexcept;
    void watch();
    void accept();
    void receive(const Descriptor& connection, bool& over);
    void take(int pid, Descriptor memory, const WatcherLink::Message& told, const Descriptor& connection);
    void takeAccount(int pid);
    void watchProcess(int pid, std::unique_ptr<EventMemory> memory);
    [[nodiscard]] static bool hasEnded(Watched& watched);
    static void answer(const Descriptor& connection, int memory);
    void settle(Watched& watched);
    void settleEnded();

    std::filesystem::path dir_;
    std::string name_;
    Descriptor listener_;
    Descriptor stop_;
    std::vector<Descriptor> connections_;
    bool crowded_ = false; ///< true if a connection is waiting because no descriptor was free
    std::atomic<std::int64_t> refused_{0};
    bool incomplete_ = false; ///< read after the thread has ended
    std::unique_ptr<WatcherLink::Account> told_ = std::make_unique<WatcherLink::Account>(); ///< the last message
                                                                                            ///< received
    std::vector<Watched> watched_;
    std::vector<LeftByProcess> left_;
    std::atomic<std::chrono::milliseconds> patience_{};
    std::thread thread_; ///< last, because it uses the other members
};

} // namespace bubblescope::profiler
