#include "profiler/job/process_end.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace bubblescope::profiler {
namespace {

/// The first version of struct pidfd_info in linux/pidfd.h, which is missing on older systems.
struct PidfdInfo {
    std::uint64_t mask = 0;
    std::uint64_t cgroup = 0;
    std::array<std::uint32_t, 11> ids{};
    std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64, "as the kernel lays it out");

/// The wait status of a process that its parent has reaped; nothing before that, or before Linux 6.15.
std::optional<int> statusOfReaped(const Descriptor& process) {
    constexpr std::uint64_t kExit = 1U << 3U;
    constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);
    PidfdInfo info;
    info.mask = kExit;
    const bool known = process.isOpen() && ::ioctl(process.get(), kGetInfo, &info) == 0 && (info.mask & kExit) != 0;
    return known ? std::optional(info.exit_code) : std::nullopt;
}

/// The wait status of a zombie.
std::optional<int> statusOfZombie(int pid) {
    constexpr int kStatusField = 52; // index of the last field listed in proc(5)
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    const std::size_t name_end = line.rfind(')'); // the second field, the program's name, may contain any characters
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(line.substr(name_end + 1));
    std::string field;
    for (int number = 3; number <= kStatusField && fields >> field; ++number) {
        if (number == 3 && field != "Z") return std::nullopt;
        if (number == kStatusField) return parseNumber<int>(field);
    }
    return std::nullopt;
}

std::string nameOfSignal(int signal) {
    static constexpr std::array<std::pair<int, std::string_view>, 17> kNames{{{SIGHUP, "SIGHUP"},
                                                                              {SIGINT, "SIGINT"},
                                                                              {SIGQUIT, "SIGQUIT"},
                                                                              {SIGILL, "SIGILL"},
                                                                              {SIGTRAP, "SIGTRAP"},
                                                                              {SIGABRT, "SIGABRT"},
                                                                              {SIGBUS, "SIGBUS"},
                                                                              {SIGFPE, "SIGFPE"},
                                                                              {SIGKILL, "SIGKILL"},
                                                                              {SIGUSR1, "SIGUSR1"},
                                                                              {SIGSEGV, "SIGSEGV"},
                                                                              {SIGUSR2, "SIGUSR2"},
                                                                              {SIGPIPE, "SIGPIPE"},
                                                                              {SIGALRM, "SIGALRM"},
                                                                              {SIGTERM, "SIGTERM"},
                                                                              {SIGXCPU, "SIGXCPU"},
                                                                              {SIGSYS, "SIGSYS"}}};
    for (const auto& [number, name] : kNames) {
        if (number == signal) return std::string(name);
    }
    return fmt::format("signal {}", signal);
}

} // namespace

std::string signalThatEnded(int pid, const Descriptor& process) {
    std::optional<int> status = statusOfZombie(pid);
    if (!status) status = statusOfReaped(process); // in case it was reaped in the meantime
    return status && WIFSIGNALED(*status) ? nameOfSignal(WTERMSIG(*status)) : std::string();
}

} // namespace bubblescope::profiler
