#include "core/base/process_info.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>

namespace bubblescope {
namespace {

std::string firstLineOf(const char* path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

TimeNs readClock(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + TimeNs(time.tv_nsec);
}

} // namespace

ProcessInfo thisProcess() {
    ProcessInfo process;
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) process.host = host.data();
    process.clock = firstLineOf("/proc/sys/kernel/random/boot_id");
    process.program = firstLineOf("/proc/self/comm");
    process.pid = ::getpid();
    std::array<char, 64> pids{};
    if (::readlink("/proc/self/ns/pid", pids.data(), pids.size() - 1) > 0) process.pids = pids.data();
    return process;
}

ClockPair readClocks() {
    return {readClock(CLOCK_MONOTONIC), readClock(CLOCK_REALTIME)};
}

} // namespace bubblescope
