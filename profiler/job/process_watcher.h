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

/// Holds the memory of the processes of a job, and writes what they leave there when they end without writing it
/// themselves: killed, by _exit, or by becoming another program. Where it cannot hold a process's memory, the process
/// states at its end what it wrote. Its own thread. Only processes of this one's user are accepted.
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
        std::vector<LeftByProcess> processes; ///< that recorded something, or tried to
        int running = 0;                      ///< processes that still record
        std::int64_t refused = 0;             ///< connections of other users
    };
    /// Call it once, when the job has ended. Waits at most `patience` for processes of the job that are still ending.
    [[nodiscard]] Report finish(std::chrono::milliseconds patience);

private:
    struct Watched {
        std::unique_ptr<EventMemory> memory; ///< null if there was no descriptor, or no room in a file, for it
        int pid = 0;
        Descriptor process; ///< readable when it is gone; not open where it was gone before or there are none left
        bool done = false;
    };

    ProcessWatcher(std::filesystem::path dir, std::string name, Descriptor listener, Descriptor stop);
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
    bool crowded_ = false; ///< no descriptor was left for a connection that waits
    std::atomic<std::int64_t> refused_{0};
    std::unique_ptr<WatcherLink::Account> told_ = std::make_unique<WatcherLink::Account>(); ///< the last message
    std::vector<Watched> watched_;
    std::vector<LeftByProcess> left_;
    std::atomic<std::chrono::milliseconds> patience_{};
    std::thread thread_; ///< last, because it uses the others
};

} // namespace bubblescope::profiler
