// The cost of recording for a run on the CPU: the same training with and without it, in turns within one program, so
// that
// both see the same machine. The figures are medians over steps and rounds, of time on the wall and of processor time;
// the latter is that of the whole process, the recorder's thread included.

#include "core/families/registry.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/engine/engine.h"
#include "runtime/run_setup.h"
#include "tests/support/scratch_folder.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::runtime;

struct Moment {
    double wall = 0;
    double processor = 0;
};

Moment now() {
    const auto seconds = [](clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    return {seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct StepTimes {
    double wall = 0;
    double processor = 0;
};

/// Medians of a run's steps but the first, which warms up.
Result<StepTimes> train(const RunConfig& config) {
    BUBBLESCOPE_ASSIGN(const std::unique_ptr<profiler::Recorder> recorder, openRecorder(config));
    MonotonicClock clock;
    InProcessTransports transports(config.schedule.pp, clock, config.timeout);
    EngineParts parts = engineParts(config, clock, transports.ends(), recorder.get(), nullptr);
    std::vector<Moment> ends;
    parts.after_step = [&ends, of_recording = parts.after_step] {
        ends.push_back(now());
        return of_recording ? of_recording() : Status();
    };
    JobControl control;
    BUBBLESCOPE_ASSIGN([[maybe_unused]] const EngineResult result, runEngine(config, parts, control));
    if (recorder) BUBBLESCOPE_TRY(recorder->close());
    std::vector<double> wall;
    std::vector<double> processor;
    for (std::size_t step = 1; step < ends.size(); ++step) {
        wall.push_back(ends[step].wall - ends[step - 1].wall);
        processor.push_back(ends[step].processor - ends[step - 1].processor);
    }
    return StepTimes{median(wall), median(processor)};
}

void compare(benchmark::State& state, RunConfig config) {
    const test::ScratchFolder scratch;
    std::vector<double> wall;
    std::vector<double> processor;
    std::vector<double> step_ms;
    bool recorded_first = false;
    for ([[maybe_unused]] auto round : state) {
        StepTimes with;
        StepTimes without;
        recorded_first = !recorded_first;
        for (const bool records : {recorded_first, !recorded_first}) {
            config.out_dir = records ? scratch.path() : std::filesystem::path();
            const Result<StepTimes> times = train(config);
            if (!times.ok()) return state.SkipWithError(times.error().text().c_str());
            (records ? with : without) = times.value();
        }
        wall.push_back(with.wall / without.wall);
        processor.push_back(with.processor / without.processor);
        step_ms.push_back(without.wall * 1e3);
    }
    state.counters["step_ms"] = median(step_ms);
    state.counters["wall_ratio"] = median(wall);
    state.counters["processor_ratio"] = median(processor);
}
/// The mean of the middle eight tenths.
double trimmedMean(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t cut = values.size() / 10;
    const auto sum = std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(cut),
                                     values.end() - static_cast<std::ptrdiff_t>(cut), 0.0);
    return sum / static_cast<double>(values.size() - 2 * cut);
}

/// The cost of asking the recorder to write at the ends of steps, which is done in a random half of the blocks of
/// eight steps. Differences of a tenth of a percent show, since all steps are of one run.
void wokenWriter(benchmark::State& state, int pp) {
    RunConfig config;
    config.schedule = makeSchedule({"1f1b", "", pp, 4 * pp, 1}).value();
    config.paced = false;
    constexpr int kBlock = 8;
    config.steps = 400;
    config.model.width = 64;
    config.model.sequence = 64;
    const test::ScratchFolder scratch;
    config.out_dir = scratch.path();
    std::mt19937 random(1);
    std::array<std::vector<double>, 2> wall; // of steps without, and with
    std::array<std::vector<double>, 2> processor;
    std::vector<double> ratios;
    for ([[maybe_unused]] auto round : state) {
        Result<std::unique_ptr<profiler::Recorder>> recorder = openRecorder(config);
        if (!recorder.ok()) return state.SkipWithError(recorder.error().text().c_str());
        MonotonicClock clock;
        InProcessTransports transports(config.schedule.pp, clock, config.timeout);
        EngineParts parts = engineParts(config, clock, transports.ends(), recorder.value().get(), nullptr);
        std::array<std::vector<double>, 2> of_round;
        std::optional<Moment> before;
        bool woken = false;
        int steps = 0;
        parts.after_step = [&] {
            const Moment end = now();
            if (before) {
                of_round.at(woken ? 1 : 0).push_back(end.wall - before->wall);
                processor.at(woken ? 1 : 0).push_back(end.processor - before->processor);
            }
            before = end;
            if (steps++ % kBlock == 0) woken = random() % 2 == 0;
            if (woken) recorder.value()->requestFlush();
            return Status();
        };
        JobControl control;
        const Result<EngineResult> result = runEngine(config, parts, control);
        if (!result.ok() || !recorder.value()->close().ok()) return state.SkipWithError("the run failed");
        ratios.push_back(trimmedMean(of_round[1]) / trimmedMean(of_round[0]));
        for (std::size_t i = 0; i < 2; ++i)
            wall.at(i).insert(wall.at(i).end(), of_round.at(i).begin(), of_round.at(i).end());
    }
    std::ranges::sort(ratios);
    state.counters["step_ms"] = median(wall[0]) * 1e3;
    state.counters["wall_ratio"] = trimmedMean(wall[1]) / trimmedMean(wall[0]);
    state.counters["quarter_of_rounds_below"] = ratios[ratios.size() / 4];
    state.counters["quarter_of_rounds_above"] = ratios[ratios.size() * 3 / 4];
    state.counters["processor_us"] = (trimmedMean(processor[1]) - trimmedMean(processor[0])) * 1e6;
}
BENCHMARK_CAPTURE(wokenWriter, one_rank, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(wokenWriter, two_ranks, 2)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Ops take as long as their maths.
void maths(benchmark::State& state, int pp, int width) {
    RunConfig config;
    config.schedule = makeSchedule({"1f1b", "", pp, 4 * pp, 1}).value();
    config.paced = false;
    config.steps = 12;
    config.model.width = width;
    config.model.sequence = width;
    compare(state, config);
}
BENCHMARK_CAPTURE(maths, one_rank, 1, 64)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(maths, one_rank_wide, 1, 128)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(maths, two_ranks, 2, 64)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(maths, two_ranks_wide, 2, 128)->Unit(benchmark::kMillisecond)->UseRealTime();

/// As runs are by default: ops take their nominal times, here without a tolerance that would hide a delay.
void nominalTimes(benchmark::State& state) {
    RunConfig config;
    config.schedule = makeSchedule({"1f1b", "", 4, 8, 1}).value();
    config.times.times = {TimeNs{5'000'000}, TimeNs{10'000'000}, TimeNs{5'000'000}, TimeNs{5'000'000}, TimeNs{0}};
    config.pace_tolerance = TimeNs{0};
    config.steps = 12;
    compare(state, config);
}
BENCHMARK(nominalTimes)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
