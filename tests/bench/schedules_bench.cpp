// Generation, validation and simulation of schedules, on one thread. `items_per_second` are ops; the arguments
// are p and m. Sizes span more than three decades of p·m·v, so that report.py can fit how times grow.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"

#include <benchmark/benchmark.h>

#include <malloc.h>

namespace bubblescope {
namespace {

const bool kMemoryIsKept = [] {
    constexpr int kMost = 1 << 30;
    return mallopt(M_TRIM_THRESHOLD, kMost) == 1 && mallopt(M_MMAP_THRESHOLD, kMost) == 1;
}();

/// The measured case: a family at its number of chunks and at op times.
struct Case {
    const char* name;
    int vpp;
    OpTimes times = ScheduleSpec{}.times;
    const char* flavor = "";
};

OpTimes unequal() {
    return {TimeNs{1'000'000}, TimeNs{2'000'000}, TimeNs{1'150'000}, TimeNs{850'000}, TimeNs{0}};
}

Schedule schedule(const benchmark::State& state, const Case& what) {
    ScheduleSpec spec{what.name, what.flavor, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
                      what.vpp};
    spec.times = what.times;
    return makeSchedule(spec).value();
}

void count(benchmark::State& state, const Schedule& done) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(done.opCount()));
    state.counters["ops"] = static_cast<double>(done.opCount());
}

void generate(benchmark::State& state, const Case& what) {
    for (auto _ : state)
        benchmark::DoNotOptimize(schedule(state, what));
    count(state, schedule(state, what));
}

void validation(benchmark::State& state, const Case& what) {
    const Schedule order = schedule(state, what);
    for (auto _ : state)
        benchmark::DoNotOptimize(validate(order));
    count(state, order);
}

void simulation(benchmark::State& state, const Case& what) {
    const Schedule order = schedule(state, what);
    CostModel costs;
    costs.times = what.times;
    for (auto _ : state)
        benchmark::DoNotOptimize(simulate(order, costs));
    count(state, order);
}

/// From a toy to the largest in use; m is a multiple of p throughout.
void sizes(benchmark::internal::Benchmark* bench) {
    for (const auto& [p, m] : {std::pair{4, 16},
                               {8, 16},
                               {8, 64},
                               {16, 64},
                               {16, 128},
                               {32, 128},
                               {32, 256},
                               {64, 256},
                               {64, 512},
                               {64, 1024},
                               {128, 1024}})
        bench->Args({p, m});
    bench->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(generate, 1f1b, Case{"1f1b", 1})->Apply(sizes);
BENCHMARK_CAPTURE(generate, interleaved_v4, Case{"interleaved", 4})->Apply(sizes);
BENCHMARK_CAPTURE(generate, zb_v, Case{"zb-v", 2})->Apply(sizes);
BENCHMARK_CAPTURE(generate, zb_v_unequal, Case{"zb-v", 2, unequal()})->Apply(sizes);
BENCHMARK_CAPTURE(generate, zb_v_paddle_v3, Case{"zb-v", 3, unequal(), "paddle"})->Apply(sizes);
BENCHMARK_CAPTURE(generate, v_half, Case{"v-half", 2})->Apply(sizes);
BENCHMARK_CAPTURE(generate, v_min, Case{"v-min", 2})->Apply(sizes);
BENCHMARK_CAPTURE(generate, v_1f1b, Case{"v-1f1b", 2})->Apply(sizes);
BENCHMARK_CAPTURE(validation, interleaved_v4, Case{"interleaved", 4})->Apply(sizes);
BENCHMARK_CAPTURE(simulation, 1f1b, Case{"1f1b", 1})->Apply(sizes);
BENCHMARK_CAPTURE(simulation, interleaved_v4, Case{"interleaved", 4})->Apply(sizes);
BENCHMARK_CAPTURE(simulation, zb_v, Case{"zb-v", 2})->Apply(sizes);
BENCHMARK_CAPTURE(simulation, v_half, Case{"v-half", 2})->Apply(sizes);

} // namespace
} // namespace bubblescope
