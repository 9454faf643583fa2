#include "core/trace/pyramid.h"
#include "core/trace/trace_builder.h"

#include <benchmark/benchmark.h>

#include <random>

// The pyramid of 10 million slices on 64 tracks: building it, and the columns of a screen at several zooms.
namespace bubblescope {
namespace {

constexpr TrackId kTracks = 64;
constexpr std::size_t kPixels = 1920;

std::shared_ptr<const Trace> made(std::size_t slices, TrackId tracks) {
    std::mt19937_64 random(1);
    TraceBuilder builder;
    builder.addFile({"made", "bench", std::nullopt});
    std::vector<StringId> names;
    for (int i = 0; i < 300; ++i)
        names.push_back(builder.intern("kernel " + std::to_string(i)));
    std::vector<std::int64_t> time(tracks, 0);
    for (TrackId track = 0; track < tracks; ++track)
        builder.addTrack(1, track);
    for (std::size_t i = 0; i < slices; ++i) { // in pairs: one slice in another
        const auto track = static_cast<TrackId>(i / 2 % tracks);
        const auto length = static_cast<std::int64_t>(2000 + random() % 20'000);
        if (i % 2 == 0) time[track] += static_cast<std::int64_t>(1 + random() % 25'000);
        const std::int64_t begin = time[track] + (i % 2 == 0 ? 0 : 100);
        builder.addSlice({track, TimeNs{begin}, TimeNs{i % 2 == 0 ? 22'500 : length}, names[random() % 300], 0, 0});
        if (i % 2 == 1) time[track] += 22'500;
    }
    DiagnosticLog log;
    return builder.finish(log);
}

const std::shared_ptr<const Trace>& trace() {
    static const auto made_once = made(10'000'000, kTracks);
    return made_once;
}

void build(benchmark::State& state) {
    std::size_t bytes = 0;
    (void)trace();
    JobControl control;
    for (auto unused : state) {
        auto pyramid = Pyramid::build(trace(), control);
        bytes = pyramid.value().bytes();
        benchmark::DoNotOptimize(pyramid);
    }
    state.counters["bytes_per_slice"] = static_cast<double>(bytes) / static_cast<double>(trace()->sliceCount());
}

void buildOneTrack(benchmark::State& state) {
    const auto one = made(10'000'000, 1);
    JobControl control;
    for (auto unused : state)
        benchmark::DoNotOptimize(Pyramid::build(one, control));
}

/// A screen of 64 rows that shows 1/range of the trace, somewhere.
void screen(benchmark::State& state) {
    JobControl control;
    const Pyramid pyramid = Pyramid::build(trace(), control).value();
    std::mt19937_64 random(2);
    const std::int64_t width = trace()->span().count() / state.range(0);
    std::vector<Pyramid::Column> columns(kPixels);
    for (auto unused : state) {
        const TimeNs from{
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(trace()->span().count() - width + 1))};
        const TimeNs to = from + TimeNs{width};
        for (TrackId track = 0; track < kTracks; ++track) {
            if (pyramid.few(track, from, to, kPixels)) {
                benchmark::DoNotOptimize(pyramid.slices(track, from, to));
            } else {
                pyramid.columns(track, from, to, columns);
                benchmark::DoNotOptimize(columns.data());
            }
        }
    }
}

BENCHMARK(build)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(buildOneTrack)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(screen)->Unit(benchmark::kMillisecond)->Arg(1)->Arg(3)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);

} // namespace
} // namespace bubblescope

BENCHMARK_MAIN();
