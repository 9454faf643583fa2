// A job that tests record: with NVTX's own headers where they are found, as real programs have them.
#ifdef BUBBLESCOPE_TEST_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/capture/nvtx_client.h"
#endif

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace {

#ifdef BUBBLESCOPE_TEST_NVTX
void push(const std::string& name) {
    nvtxRangePushA(name.c_str());
}
void pop() {
    nvtxRangePop();
}
#else
void push(const std::string& name) {
    nvtx_client::rangePush(name.c_str());
}
void pop() {
    nvtx_client::rangePop();
}
#endif

void busy(int microseconds) {
    ::usleep(static_cast<useconds_t>(microseconds));
}

/// F-then-B with two micro-batches, `steps` times.
void train(int steps) {
    for (int step = 0; step < steps; ++step) {
        for (const char* name : {"F0", "F1", "B0", "B1"}) {
            push(name);
            busy(name[0] == 'F' ? 500 : 1000);
            pop();
        }
    }
}

void ranges(int count, const std::string& name = "F0") {
    for (int i = 0; i < count; ++i) {
        push(name);
        pop();
    }
}

/// One of the ways in which a process ends without its destructors.
[[noreturn]] void endAbruptly(int way) {
    if (way % 3 == 0) ::raise(SIGKILL);
    if (way % 3 == 1) ::execl("/bin/true", "true", nullptr);
    ::_exit(0);
}

void atMost(int what, rlim_t limit) {
    const rlimit both{limit, limit};
    ::setrlimit(static_cast<decltype(RLIMIT_FSIZE)>(what), &both);
}

/// Threads that come and go, children that end in all ways while the parent's threads record, signals. Prints how many
/// ranges all of them began.
int torture() {
    constexpr int kRounds = 8;
    constexpr int kThreads = 64;
    constexpr int kRanges = 200;
    constexpr int kChildren = 6;
    std::signal(SIGALRM, [](int) {});
    ranges(1); // NVTX is being initialised: ranges of other threads are lost meanwhile
    int begun = 1;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([] { ranges(kRanges); });
        std::vector<pid_t> children;
        for (int c = 0; c < kChildren; ++c) {
            children.push_back(::fork());
            if (children.back() != 0) continue;
            ranges(10, "of a child");
            push("open");
            endAbruptly(c);
        }
        ::raise(SIGALRM);
        for (std::thread& thread : threads)
            thread.join();
        for (const pid_t child : children)
            ::waitpid(child, nullptr, 0);
        begun += kThreads * kRanges + kChildren * 11;
    }
    std::printf("%d\n", begun);
    std::fflush(stdout);
    return 42;
}

volatile std::sig_atomic_t signals_got = 0;

/// Signals to the whole process group, each of which must arrive once.
int countSignals() {
    constexpr int kSignals = 6;
    std::signal(SIGUSR1, [](int) { signals_got = signals_got + 1; });
    train(1);
    for (int i = 0; i < kSignals; ++i) {
        ::kill(0, SIGUSR1);
        busy(100'000);
    }
    return signals_got;
}

volatile std::sig_atomic_t told = 0;

/// Whether the recording has written a name.
bool traceHolds(std::string_view name) {
    std::error_code ignored;
    const char* const dir = std::getenv("BUBBLESCOPE_CAPTURE_DIR");
    for (const auto& file : std::filesystem::directory_iterator(dir == nullptr ? "" : dir, ignored)) {
        std::ifstream stream(file.path(), std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(stream), {});
        if (bytes.find(name) != std::string::npos) return true;
    }
    return false;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "train";
    std::puts("the job's own output");
    std::fflush(stdout);
    if (what == "quiet") return 0; // as a launcher: it uses nothing of what is recorded
    if (what == "exit") {
        train(1);
        return 42;
    }
    if (what == "fast") {
        ranges(1'000'000);
        return 0;
    }
    if (what == "many") {
        ranges(1);
        std::vector<std::thread> threads;
        for (int t = 0; t < 64; ++t)
            threads.emplace_back([] { ranges(5'000); });
        for (std::thread& thread : threads)
            thread.join();
        return 0;
    }
    if (what == "kill" || what == "exec" || what == "_exit") {
        push("around");
        ranges(50);
        endAbruptly(what == "kill" ? 0 : what == "exec" ? 1 : 2);
    }
    if (what == "children") {
        for (int c = 0; c < 4; ++c) {
            if (::fork() != 0) continue;
            ranges(50);
            ::_exit(0);
        }
        while (::wait(nullptr) > 0) {
        }
        ranges(50);
        return 0;
    }
    if (what == "cleans" || what == "moves") { // its own folder, as scripts do at their begin
        ranges(200, "kept");
        while (!traceHolds("kept"))
            busy(1000);
        const std::filesystem::path dir = std::getenv("BUBBLESCOPE_CAPTURE_DIR");
        if (what == "moves")
            std::filesystem::rename(dir, dir.string() + ".old");
        else
            std::filesystem::remove_all(dir);
        ranges(5);
        return 0;
    }
    if (what == "open") { // many, when it ends without its destructors
        for (int i = 0; i < 1000; ++i)
            push("open");
        while (!traceHolds("open"))
            busy(1000);
        busy(300'000); // a checkpoint holds the outermost of them
        endAbruptly(2);
    }
    if (what == "limited") { // to a file of some hundred ranges
        atMost(RLIMIT_FSIZE, 16 << 10);
        for (int i = 0; i < 80; ++i) {
            ranges(100);
            busy(5000);
        }
        return 42;
    }
    if (what == "descriptors") {
        push("around"); // loads the library
        pop();
        while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
        }
        ranges(50);
        return 42;
    }
    if (what == "closes") { // what does not belong to it, as daemons do
        ranges(50);
        busy(150'000);
        for (int descriptor = 3; descriptor < 64; ++descriptor)
            ::close(descriptor);
        const char* const own = argc > 2 ? argv[2] : "/dev/null";
        std::vector<int> files;
        for (int i = 0; i < 16; ++i)
            files.push_back(::open(own, O_WRONLY | O_CREAT | O_APPEND, 0600));
        ranges(50);
        busy(150'000);
        return 42;
    }
    if (what == "torture") return torture();
    if (what == "signals") return countSignals();
    if (what == "wait") { // until a signal
        std::signal(SIGTERM, [](int) { told = 1; });
        train(1);
        ::kill(::getppid(), SIGTERM); // to who started it, who is to pass it on
        while (told == 0)
            busy(1000);
        return 43;
    }
    if (what == "killed") {
        train(2);
        push("open");
        while (!traceHolds("open"))
            busy(1000);
        ::raise(SIGKILL);
    }
    if (what == "forks") {
        train(2);
        const pid_t silent = ::fork();
        if (silent == 0) ::_exit(0);
        const pid_t child = ::fork();
        if (child == 0) {
            push("of the child");
            pop();
            std::exit(0);
        }
        for (const pid_t one : {silent, child})
            ::waitpid(one, nullptr, 0);
        train(1);
        return 0;
    }
    if (what == "threads") {
        std::thread other([] {
            push("other");
            pop();
        });
        other.join();
    }
    train(3);
    return 0;
}
