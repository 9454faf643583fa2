#include "profiler/job/process_watcher.h"

#include "core/base/descriptor.h"
#include "core/base/process_info.h"
#include "core/base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
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
static_assert(sizeof(PidfdInfo) == 64, "the layout must match the kernel's");

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

/// The name of the signal that ended a process, such as "SIGKILL". `process` is its pidfd, if there is one. The process
/// may be another program's child; the system reports its status while it is a zombie and, since Linux 6.15, also
/// later. Empty if the process exited by itself or is still running, or if the system does not report it.
std::string signalThatEnded(int pid, const Descriptor& process) {
    std::optional<int> status = statusOfZombie(pid);
    if (!status) status = statusOfReaped(process); // in case it was reaped in the meantime
    return status && WIFSIGNALED(*status) ? nameOfSignal(WTERMSIG(*status)) : std::string();
}

using Clock = std::chrono::steady_clock;

std::string unguessableName() {
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) bytes.fill(0);
    std::string name = fmt::format("bubblescope-{}-", ::getpid());
    for (const unsigned char byte : bytes)
        name += fmt::format("{:02x}", byte);
    return name;
}

/// Raises the limits as far as the system allows: each process takes two descriptors, and its memory counts as a file.
/// Call it once the job runs, so that the job keeps its own limits.
void raiseLimits() {
    for (const auto what : {RLIMIT_NOFILE, RLIMIT_FSIZE}) {
        rlimit limit{};
        if (::getrlimit(what, &limit) != 0) continue;
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(what, &limit);
    }
}

/// Readable once the process has ended; not open if it has ended already, or if no descriptor is free.
Descriptor processOf(int pid) {
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool isReadable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0 && (one.revents & POLLIN) != 0;
}

} // namespace

Result<std::unique_ptr<ProcessWatcher>> ProcessWatcher::start(std::filesystem::path dir) {
    const auto failed = [](int code) {
        return runError(fmt::format("cannot watch for killed processes: {}", std::strerror(code)));
    };
    Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    Descriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!listener.isOpen() || !stop.isOpen()) return failed(errno);
    const std::string name = unguessableName();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int on = 1;
    constexpr int kBacklog = 1024;
    if (::setsockopt(listener.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
        ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        ::listen(listener.get(), kBacklog) != 0)
        return failed(errno);
    try {
        return std::unique_ptr<ProcessWatcher>(
            new ProcessWatcher(std::move(dir), name, std::move(listener), std::move(stop)));
    } catch (const std::system_error& error) { // of the thread
        return failed(error.code().value());
    }
}

ProcessWatcher::ProcessWatcher(std::filesystem::path dir, std::string name, Descriptor listener, Descriptor stop)
    : dir_(std::move(dir)), name_(std::move(name)), listener_(std::move(listener)), stop_(std::move(stop)),
      thread_([this] { watchWhileMemoryLasts(); }) {}

ProcessWatcher::~ProcessWatcher() {
    ::eventfd_write(stop_.get(), 1);
    if (thread_.joinable()) thread_.join();
}

ProcessWatcher::Report ProcessWatcher::finish(std::chrono::milliseconds patience) {
    patience_ = patience;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
    Report report;
    for (LeftByProcess& left : left_) {
        if (left.recorded) report.processes.push_back(std::move(left));
    }
    report.refused = refused_;
    report.incomplete = incomplete_;
    report.running =
        static_cast<int>(std::ranges::count_if(watched_, [](const Watched& watched) { return !watched.done; }));
    return report;
}

void ProcessWatcher::accept() {
    for (;;) {
        Descriptor made(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        crowded_ = !made.isOpen() && errno != EAGAIN && errno != EWOULDBLOCK;
        if (!made.isOpen()) return;
        ucred peer{};
        socklen_t size = sizeof peer;
        // Anyone can find the socket's name and use up this process's descriptors.
        const bool known = ::getsockopt(made.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                           (peer.uid == ::getuid() || peer.uid == ::geteuid());
        if (!known) {
            ++refused_;
            continue;
        }
        if (connections_.empty()) raiseLimits();
        connections_.push_back(std::move(made));
    }
}

void ProcessWatcher::receive(const Descriptor& connection, bool& over) {
    iovec text{told_.get(), sizeof *told_};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))> room{};
    for (;;) {
        msghdr message{};
        message.msg_iov = &text;
        message.msg_iovlen = 1;
        message.msg_control = room.data();
        message.msg_controllen = room.size();
        const ssize_t got = ::recvmsg(connection.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            over = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            return;
        }
        ucred who{};
        Descriptor memory;
        for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
            if (head->cmsg_level != SOL_SOCKET) continue;
            int number = -1;
            if (head->cmsg_type == SCM_CREDENTIALS) std::memcpy(&who, CMSG_DATA(head), sizeof who);
            if (head->cmsg_type == SCM_RIGHTS) {
                std::memcpy(&number, CMSG_DATA(head), sizeof number);
                memory = Descriptor(number);
            }
        }
        if (who.pid <= 0) continue;
        if (got == static_cast<ssize_t>(sizeof *told_) && told_->head.kind == WatcherLink::Message::Kind::Account)
            takeAccount(who.pid);
        else if (got == static_cast<ssize_t>(sizeof told_->head))
            take(who.pid, std::move(memory), told_->head, connection);
    }
}

void ProcessWatcher::take(int pid, Descriptor memory, const WatcherLink::Message& told, const Descriptor& connection) {
    using Kind = WatcherLink::Message::Kind;
    if (told.kind != Kind::Ask && told.kind != Kind::Give) return;
    if (told.kind == Kind::Ask) {
        memory = EventMemory::fileFor(static_cast<std::size_t>(told.bytes));
        answer(connection, memory.get());
    }
    auto attached = EventMemory::attach(std::move(memory)); // also null if the descriptor was lost on the way
    if (attached != nullptr) attached->closeDescriptor();
    watchProcess(pid, std::move(attached));
}

void ProcessWatcher::watchProcess(int pid, std::unique_ptr<EventMemory> memory) {
    for (Watched& before : watched_) { // the process has executed another program, or now asks for memory
        if (before.pid != pid || before.done) continue;
        if (before.memory == nullptr && memory == nullptr) return;
        if (before.memory != nullptr) settle(before);
        before.done = true;
    }
    watched_.push_back({std::move(memory), pid, processOf(pid), false});
}

void ProcessWatcher::takeAccount(int pid) {
    const auto stated = std::ranges::find_if(watched_, [&](const Watched& watched) {
        return watched.pid == pid && !watched.done && watched.memory == nullptr;
    });
    if (stated == watched_.end()) return;
    stated->done = true;
    left_.push_back(leftByAccount(*told_));
}

/// Passes memory to a process that may not create it itself; without a descriptor, no memory is passed.
void ProcessWatcher::answer(const Descriptor& connection, int memory) {
    WatcherLink::Message message;
    iovec text{&message, sizeof message};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr head{};
    head.msg_iov = &text;
    head.msg_iovlen = 1;
    if (memory >= 0) {
        head.msg_control = room.data();
        head.msg_controllen = room.size();
        cmsghdr* const rights = CMSG_FIRSTHDR(&head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof memory);
        std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
    }
    ::sendmsg(connection.get(), &head, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ProcessWatcher::settle(Watched& watched) {
    watched.done = true;
    const std::string signal = signalThatEnded(watched.pid, watched.process);
    if (watched.memory == nullptr) {
        LeftByProcess& left = left_.emplace_back();
        left.recorded = left.unwatched = true;
        left.signal = signal;
        left.described.process = thisProcess(); // for the host's name
        left.described.process.pid = watched.pid;
        left.described.process.program.clear();
        return;
    }
    try {
        left_.push_back(writeWhatIsLeft(*watched.memory, dir_, signal));
    } catch (const std::exception& error) {
        LeftByProcess left;
        left.recorded = true;
        left.described.process.pid = watched.pid;
        left.message = error.what();
        left.signal = signal;
        left_.push_back(std::move(left));
    }
    watched.memory.reset();
}

/// If there was no descriptor for the process, one may be free by now.
bool ProcessWatcher::hasEnded(Watched& watched) {
    if (!watched.process.isOpen()) watched.process = processOf(watched.pid);
    if (!watched.process.isOpen()) return ::kill(watched.pid, 0) != 0 && errno == ESRCH;
    return isReadable(watched.process.get());
}

void ProcessWatcher::settleEnded() {
    for (Watched& watched : watched_) {
        if (!watched.done && hasEnded(watched)) settle(watched);
    }
    std::erase_if(watched_, [](const Watched& watched) { return watched.done; });
}

/// An uncaught exception would end this program, but not the job.
void ProcessWatcher::watchWhileMemoryLasts() noexcept {
    try {
        watch();
    } catch (const std::bad_alloc&) {
        incomplete_ = true;
        connections_.clear();
        listener_ = Descriptor();
    }
}

void ProcessWatcher::watch() {
    std::vector<pollfd> waited;
    std::optional<Clock::time_point> until;
    for (;;) {
        const bool asked = until.has_value(); // all earlier connections are then handled below
        const bool unseen = std::ranges::any_of(watched_, [](const Watched& one) { return !one.process.isOpen(); });
        waited.assign({{crowded_ ? -1 : listener_.get(), POLLIN, 0}, {until ? -1 : stop_.get(), POLLIN, 0}});
        for (const Descriptor& connection : connections_)
            waited.push_back({connection.get(), POLLIN, 0});
        for (const Watched& watched : watched_)
            waited.push_back({watched.process.get(), POLLIN, 0});
        constexpr int kLook = 20; // ms between polls, at the end and when descriptors are short
        const bool idle = asked && watched_.empty() && !crowded_;
        ::poll(waited.data(), waited.size(), idle ? 0 : asked || crowded_ || unseen ? kLook : -1);
        accept();
        for (std::size_t i = 0; i < connections_.size();) {
            bool over = false;
            receive(connections_[i], over);
            if (over)
                connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++i;
        }
        settleEnded();
        if (!until && isReadable(stop_.get())) until = Clock::now() + patience_.load();
        if (!asked || (Clock::now() < *until && (crowded_ || !watched_.empty()))) continue;
        incomplete_ = crowded_;
        return;
    }
}

} // namespace bubblescope::profiler
