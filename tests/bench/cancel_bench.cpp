#include "core/formats/read_trace.h"
#include "core/recognise/run.h"
#include "core/trace/pyramid.h"
#include "tests/bench/load_tools.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

// bench_cancel FOLDER [ROUNDS]: how long a load takes to return after it was asked to stop, at random moments of it,
// and the most processor time that one of its threads spends without looking whether it was, in a load that nobody
// stops.
namespace {

using namespace bubblescope;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

/// Everything that happens between a click on a file and its picture.
ErrorKind load(const std::filesystem::path& file, JobControl& control) {
    auto run = loadRun({file}, control);
    if (!run.ok() && run.error().kind == ErrorKind::Cancelled) return ErrorKind::Cancelled;
    // No pipeline in it: the raw trace is then what is shown.
    std::shared_ptr<const Trace> trace = run.ok() ? run.value().trace : nullptr;
    if (!trace) {
        auto read = readTraces({file}, control);
        if (!read.ok()) return read.error().kind;
        trace = read.value().trace;
    }
    const auto pyramid = Pyramid::build(trace, control);
    return pyramid.ok() ? ErrorKind::Usage : pyramid.error().kind;
}

/// In seconds; the calling thread's last stretch ends with the load.
double longestStretch(const std::filesystem::path& file) {
    static std::atomic<int> loads{0};
    const int number = ++loads;
    std::mutex mutex;
    double most = 0;
    JobControl control;
    control.at_check = [&] {
        thread_local double looked = 0;
        thread_local int of = 0;
        const double now = bench::threadSeconds();
        const std::lock_guard lock(mutex);
        if (of == number) most = std::max(most, now - looked);
        looked = now;
        of = number;
    };
    (void)load(file, control);
    control.at_check();
    return most;
}

void measure(const std::filesystem::path& file, int rounds) {
    JobControl free;
    const auto begin = Clock::now();
    (void)load(file, free);
    const double whole = milliseconds(Clock::now() - begin);
    const double stretch = longestStretch(file);
    std::mt19937 random(1);
    std::vector<double> latencies;
    for (int i = 0; i < rounds; ++i) {
        std::stop_source source;
        JobControl control;
        control.stop = source.get_token();
        auto ended = std::async(std::launch::async, [&] {
            const ErrorKind kind = load(file, control);
            return std::pair(kind, Clock::now());
        });
        std::this_thread::sleep_for(
            std::chrono::duration<double, std::milli>(std::uniform_real_distribution<>(0, whole)(random)));
        const auto asked = Clock::now();
        source.request_stop();
        const auto [kind, at] = ended.get();
        if (kind == ErrorKind::Cancelled) latencies.push_back(milliseconds(at - asked));
    }
    std::sort(latencies.begin(), latencies.end());
    if (latencies.empty()) return;
    std::printf("%-20s load %7.0f ms, stopped %3zu times: median %5.1f ms, 95 %% %5.1f ms, most %5.1f ms, "
                "without a look %5.1f ms\n",
                file.filename().string().c_str(), whole, latencies.size(), latencies[latencies.size() / 2],
                latencies[latencies.size() * 95 / 100], latencies.back(), 1e3 * stretch);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [ROUNDS]\n", argv[0]), 2;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files)
        measure(file, argc > 2 ? std::atoi(argv[2]) : 100);
    return 0;
}
