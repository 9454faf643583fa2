#include "core/formats/read_trace.h"
#include "core/recognise/run.h"
#include "core/trace/pyramid.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <future>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

// bench_cancel FOLDER [ROUNDS]: how long a load takes to return after it was asked to stop, at random moments of it, on
// the wall and in processor time of all threads, which other programs do not lengthen.
namespace {

using namespace bubblescope;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

double processorMilliseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
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

void measure(const std::filesystem::path& file, int rounds) {
    JobControl free;
    const auto begin = Clock::now();
    (void)load(file, free);
    const double whole = milliseconds(Clock::now() - begin);
    std::mt19937 random(1);
    std::vector<double> latencies;
    double most_processor = 0;
    for (int i = 0; i < rounds; ++i) {
        std::stop_source source;
        JobControl control;
        control.stop = source.get_token();
        auto ended = std::async(std::launch::async, [&] {
            const ErrorKind kind = load(file, control);
            return std::tuple(kind, Clock::now(), processorMilliseconds());
        });
        std::this_thread::sleep_for(
            std::chrono::duration<double, std::milli>(std::uniform_real_distribution<>(0, whole)(random)));
        const auto asked = Clock::now();
        const double used = processorMilliseconds();
        source.request_stop();
        const auto [kind, at, used_then] = ended.get();
        if (kind != ErrorKind::Cancelled) continue;
        latencies.push_back(milliseconds(at - asked));
        most_processor = std::max(most_processor, used_then - used);
    }
    std::sort(latencies.begin(), latencies.end());
    if (latencies.empty()) return;
    std::printf("%-20s load %7.0f ms, stopped %3zu times: median %5.1f ms, 95 %% %5.1f ms, most %5.1f ms; "
                "processor %5.1f ms\n",
                file.filename().string().c_str(), whole, latencies.size(), latencies[latencies.size() / 2],
                latencies[latencies.size() * 95 / 100], latencies.back(), most_processor);
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
