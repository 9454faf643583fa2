// The cost of a range for a recorded job: pushed and popped through NVTX's table, as the library that jobs load fills
// it,
// while its thread writes what comes. A range has two times: the cost of reading the clock is measured in the same
// rounds, so that the rest can be determined on a busy machine, too.

#include "profiler/events/tick_clock.h"
#include "tests/capture/nvtx_client.h"
#include "tests/support/scratch_folder.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRanges = 2048; ///< of a round: less than a ring holds, and soon over, so that few rounds are disturbed

double nanosecondsOfEach(Clock::duration took) {
    return std::chrono::duration<double, std::nano>(took).count() / kRanges;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void range(benchmark::State& state, const char* name) {
    const bubblescope::profiler::TickClock clock;
    std::vector<double> ranges;
    std::vector<double> clocks;
    std::vector<double> rests;
    for ([[maybe_unused]] auto round : state) {
        const auto begin = Clock::now();
        for (int i = 0; i < kRanges; ++i) {
            nvtx_client::rangePush(name);
            nvtx_client::rangePop();
        }
        const auto middle = Clock::now();
        for (int i = 0; i < kRanges; ++i) {
            benchmark::DoNotOptimize(clock.now());
            benchmark::DoNotOptimize(clock.now());
        }
        const auto end = Clock::now();
        ranges.push_back(nanosecondsOfEach(middle - begin));
        clocks.push_back(nanosecondsOfEach(end - middle));
        rests.push_back(ranges.back() - clocks.back());
    }
    state.counters["range_ns"] = median(ranges);
    state.counters["two_clocks_ns"] = median(clocks);
    state.counters["rest_ns"] = median(rests);
}
BENCHMARK_CAPTURE(range, op, "F12.3")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(range, long_name, "forward of micro-batch 12, chunk 3, as its author calls it")
    ->Unit(benchmark::kMicrosecond);

} // namespace

int main(int argc, char** argv) {
    const bubblescope::test::ScratchFolder scratch;
    ::setenv("BUBBLESCOPE_CAPTURE_DIR", scratch.path().c_str(), 1);
    ::setenv("BUBBLESCOPE_CAPTURE", "size=64MiB", 1);
    ::setenv("NVTX_INJECTION64_PATH", BUBBLESCOPE_BENCH_LIBRARY, 1);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
