// A job that tests record: with NVTX's own headers where they are found, as real programs have them.
#ifdef BUBBLESCOPE_TEST_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "tests/capture/nvtx_client.h"
#endif

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
        for (int i = 0; i < 100'000; ++i) {
            push("F0");
            pop();
        }
        return 0;
    }
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
