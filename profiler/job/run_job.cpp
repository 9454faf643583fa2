#include "profiler/job/run_job.h"

#include "core/base/child_process.h"
#include "core/base/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>
#include <thread>

namespace bubblescope::profiler {
namespace {

/// Distinguishes signals sent only to this process from those sent to its whole process group, which the job also
/// receives directly. The kernel does not report the difference, so a helper process in the group receives the signals
/// and reports them.
class GroupWatch {
public:
    /// If the helper cannot be started, all signals count as sent only to this process.
    GroupWatch();
    GroupWatch(const GroupWatch&) = delete;
    GroupWatch& operator=(const GroupWatch&) = delete;
    ~GroupWatch();

    /// True if the group received this signal, too. Waits a moment for the helper's report. Not thread-safe.
    [[nodiscard]] bool got(int signal);

private:
    pid_t pid_ = -1;
    Descriptor reports_;          ///< one byte per signal
    unsigned long long seen_ = 0; ///< one bit per signal that was reported before got() asked for it
};

constexpr int kTogether = 50; ///< ms within which the signals of one kill() reach all processes of a group

/// Code of the helper process: uses only calls that are allowed after forking a process with threads.
[[noreturn]] void report(int to, pid_t parent) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent) {
        siginfo_t info{};
        const int signal = ::sigwaitinfo(&all, &info);
        if (signal <= 0) continue;
        const auto letter = static_cast<unsigned char>(signal);
        if (::write(to, &letter, 1) != 1 && errno != EAGAIN) break;
    }
    ::_exit(0);
}

GroupWatch::GroupWatch() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    reports_ = Descriptor(ends[0]);
    const Descriptor to(ends[1]);
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before); // so that our handlers do not run in the helper
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) report(to.get(), parent);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

GroupWatch::~GroupWatch() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool GroupWatch::got(int signal) {
    if (pid_ <= 0 || signal <= 0 || signal >= 64) return false;
    const unsigned long long bit = 1ULL << static_cast<unsigned>(signal);
    for (int tries = 0; tries < 2; ++tries) {
        unsigned char letter = 0;
        while (::read(reports_.get(), &letter, 1) == 1)
            seen_ |= letter < 64 ? 1ULL << letter : 0;
        if ((seen_ & bit) != 0) {
            seen_ &= ~bit;
            return true;
        }
        pollfd waited{reports_.get(), POLLIN, 0};
        if (tries == 0) ::poll(&waited, 1, kTogether);
    }
    return false;
}

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libbubblescope_inject.so";
constexpr std::string_view kChecksLibrary = "libbubblescope_aadiff.so";
constexpr std::string_view kChecksLibraryVariable = "BUBBLESCOPE_AADIFF_LIBRARY";
constexpr std::string_view kAdapters = "python"; ///< folder next to the library, filled by profiler/inject
constexpr std::string_view kStartFile = "sitecustomize.py";
constexpr std::string_view kPythonPath = "PYTHONPATH";
constexpr std::string_view kLibraryVariable = "BUBBLESCOPE_INJECT_LIBRARY";

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

std::atomic<int> the_pipe{-1};          ///< pipe to the thread that forwards signals
std::atomic<bool> asked_to_stop{false}; ///< true if SIGINT or SIGTERM arrived
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler reads it");

void note(int signal, siginfo_t* info, void*) {
    const int kept = errno;
    if (signal == SIGINT || signal == SIGTERM) asked_to_stop = true;
    const bool sent_by_somebody = info->si_code <= 0; // the terminal signals the whole group, including the child
    const auto letter = static_cast<unsigned char>(signal);
    if (sent_by_somebody) {
        [[maybe_unused]] const ssize_t written = ::write(the_pipe.load(), &letter, 1);
    }
    errno = kept;
}

/// While it exists, signals that are sent to this process but not to the child are forwarded to the child.
class Forwarding {
public:
    /// Throws std::system_error if the thread cannot start: without it the job could not be stopped.
    Forwarding() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
            from_ = Descriptor(ends[0]);
            to_ = Descriptor(ends[1]);
        }
        thread_ = std::thread([this] { forward(); });
        the_pipe = to_.get();
        asked_to_stop = false;
        struct sigaction action {};
        action.sa_sigaction = note;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigemptyset(&action.sa_mask);
        for (std::size_t i = 0; i < kForwarded.size(); ++i)
            ::sigaction(kForwarded[i], &action, &before_[i]);
    }
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;
    ~Forwarding() {
        for (std::size_t i = 0; i < kForwarded.size(); ++i)
            ::sigaction(kForwarded[i], &before_[i], nullptr);
        to_ = Descriptor(); // ends the thread
        passOnTo(kNoChild);
        thread_.join();
    }

    /// Signals that arrive before this call wait for it.
    void passOnTo(pid_t child) {
        child_ = child;
        child_.notify_one();
    }

    [[nodiscard]] static bool askedToStop() { return asked_to_stop; }

private:
    static constexpr pid_t kUnknown = 0;
    static constexpr pid_t kNoChild = -1;

    void forward() {
        unsigned char signal = 0;
        while (::read(from_.get(), &signal, 1) == 1) {
            child_.wait(kUnknown);
            const pid_t child = child_;
            if (child != kNoChild && !group_.got(signal)) ::kill(child, signal);
        }
    }

    std::atomic<pid_t> child_{kUnknown};
    GroupWatch group_; ///< starts before the handlers are installed
    Descriptor from_;
    Descriptor to_;
    std::array<struct sigaction, kForwarded.size()> before_{};
    std::thread thread_;
};

/// The file named by a variable, otherwise the first of `places` that exists.
Result<fs::path> firstThere(std::vector<fs::path> places, const ReadVariable& variable, std::string_view named_by,
                            std::string_view problem) {
    if (const auto named = variable(named_by); named && !named->empty()) places = {*named};
    std::string tried;
    for (const fs::path& place : places) {
        std::error_code ignored;
        if (fs::is_regular_file(place, ignored)) return fs::absolute(place, ignored);
        tried += (tried.empty() ? "" : ", ") + place.string();
    }
    return inputError(tried, std::string(problem),
                      fmt::format("install it with the program, or set its path with {}", named_by));
}

} // namespace

Result<fs::path> findInjectLibrary(const ReadVariable& variable) {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    std::vector<fs::path> places;
    for (const char* from : {BUBBLESCOPE_LIBRARY_FROM_PROGRAM, ".", BUBBLESCOPE_LIBRARY_FROM_BUILT_PROGRAM})
        places.push_back((program / from / kLibrary).lexically_normal());
    return firstThere(std::move(places), variable, kLibraryVariable, "the library for recorded jobs is missing");
}

Result<fs::path> findChecksLibrary(const fs::path& library, const ReadVariable& variable) {
    std::vector<fs::path> places;
    for (const char* from : {"..", ".", "../../bindings"}) // installed, all in one folder, in the build folder
        places.push_back((library.parent_path() / from / kChecksLibrary).lexically_normal());
    return firstThere(std::move(places), variable, kChecksLibraryVariable,
                      "the library for checks in bubbles is missing");
}

Result<std::vector<std::pair<std::string, std::string>>>
captureEnvironment(const fs::path& library, const CaptureOptions& options, const ReadVariable& variable) {
    std::error_code ignored;
    const fs::path dir = fs::absolute(options.dir, ignored).lexically_normal();
    std::vector<std::pair<std::string, std::string>> variables{{std::string(kCaptureDirVariable), dir.string()}};
    if (std::string text = captureOptionsText(options); !text.empty())
        variables.emplace_back(kCaptureVariable, std::move(text));
    if (options.cuda) variables.emplace_back("CUDA_INJECTION64_PATH", library.string());
    if (options.nvtx) variables.emplace_back("NVTX_INJECTION64_PATH", library.string());
    if (options.nccl) variables.emplace_back("NCCL_PROFILER_PLUGIN", library.string());
    if (!options.watcher.empty()) variables.emplace_back(std::string(kCaptureWatcherVariable), options.watcher);
    const fs::path adapters = library.parent_path() / kAdapters;
    const bool found = options.python && fs::is_regular_file(adapters / kStartFile, ignored);
    if (!found && (options.checks || options.python_ranges))
        return inputError((adapters / kStartFile).string(), "the Python files for recorded jobs are missing",
                          "install them with the program");
    if (found) {
        std::string path = adapters.string();
        // An empty entry would stand for the job's working folder.
        if (const auto before = variable(kPythonPath).value_or(""); before == path || before.starts_with(path + ":"))
            path = before; // this job was started by a recorded job
        else if (!before.empty())
            path += ":" + before;
        variables.emplace_back(kPythonPath, std::move(path));
        variables.emplace_back(kLibraryVariable, library.string());
        if (options.checks) {
            BUBBLESCOPE_ASSIGN(const fs::path checks, findChecksLibrary(library, variable));
            variables.emplace_back(kChecksLibraryVariable, checks.string());
        }
    }
    return variables;
}

JobEnd runJob(std::span<const std::string> command, std::span<const std::pair<std::string, std::string>> variables) {
    Forwarding forwarding;
    std::error_code failed;
    auto child = ChildProcess::start(
        {.words = {command.begin(), command.end()}, .environment = {variables.begin(), variables.end()}}, failed);
    if (!child) {
        return {failed == std::errc::no_such_file_or_directory ? kNotFound : kNotStarted, failed.message(), false};
    }
    forwarding.passOnTo(child->pid());
    return {child->waitWithoutReaping(), {}, Forwarding::askedToStop()};
}

} // namespace bubblescope::profiler
