#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "profiler/job/left_memory.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bubblescope::profiler {

/// Owns the memory of a job's processes, and writes what they leave there when they end without writing it themselves:
/// killed, by _exit, or by becoming another program. Runs its own thread. Rejects processes of other users, unless this
/// process is root.
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
    };
    /// Call it once, when the job has ended. Waits at most `patience` for processes of the job that are still ending.
    [[nodiscard]] Report finish(std::chrono::milliseconds patience);

private:
    struct Watched {
        std::unique_ptr<EventMemory> memory;
        int pid = 0;
        Descriptor process; ///< readable when it has ended; not open if it ended before
        bool done = false;
    };

    ProcessWatcher(std::filesystem::path dir, std::string name, Descriptor listener, Descriptor stop);
    void watch();
    void accept();
    void receive(const Descriptor& connection, bool& over);
    static void answer(const Descriptor& connection, int memory);
    void settle(Watched& watched);
    void settleEnded();

    std::filesystem::path dir_;
    std::string name_;
    Descriptor listener_;
    Descriptor stop_;
    std::vector<Descriptor> connections_;
    std::vector<Watched> watched_;
    std::vector<LeftByProcess> left_;
    std::atomic<std::chrono::milliseconds> patience_{};
    std::thread thread_; ///< last, because it uses the others
};

} // namespace bubblescope::profiler
