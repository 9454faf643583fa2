// Generation, validation and simulation of schedules. `items_per_second` are ops; the argument is the
// number of micro-batches at p = 64, so that equal rates show linear growth.

#include "core/schedule/registry.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"

#include <benchmark/benchmark.h>

namespace bubblescope {
namespace {

ScheduleSpec specOf(const benchmark::State& state, const char* name, int vpp) {
    return {name, "", 64, static_cast<int>(state.range(0)), vpp};
}

void generate(benchmark::State& state, const char* name, int vpp) {
    std::int64_t ops = 0;
    for (auto _ : state) {
        const Schedule schedule = makeSchedule(specOf(state, name, vpp)).value();
        ops += static_cast<std::int64_t>(schedule.opCount());
        benchmark::DoNotOptimize(schedule);
    }
    state.SetItemsProcessed(ops);
}

void validation(benchmark::State& state, const char* name, int vpp) {
    const Schedule schedule = makeSchedule(specOf(state, name, vpp)).value();
    for (auto _ : state)
        benchmark::DoNotOptimize(validate(schedule));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(schedule.opCount()));
}

void simulation(benchmark::State& state, const char* name, int vpp) {
    const Schedule schedule = makeSchedule(specOf(state, name, vpp)).value();
    CostModel costs;
    costs.times = ScheduleSpec{}.times;
    for (auto _ : state)
        benchmark::DoNotOptimize(simulate(schedule, costs));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(schedule.opCount()));
}

BENCHMARK_CAPTURE(generate, 1f1b, "1f1b", 1)->RangeMultiplier(8)->Range(64, 4096);
BENCHMARK_CAPTURE(generate, interleaved_v4, "interleaved", 4)->RangeMultiplier(4)->Range(64, 1024);
BENCHMARK_CAPTURE(generate, zbv_greedy, "zb-v", 2)->RangeMultiplier(4)->Range(64, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(validation, 1f1b, "1f1b", 1)->RangeMultiplier(8)->Range(64, 4096);
BENCHMARK_CAPTURE(simulation, 1f1b, "1f1b", 1)->RangeMultiplier(8)->Range(64, 4096);
BENCHMARK_CAPTURE(simulation, interleaved_v4, "interleaved", 4)->RangeMultiplier(4)->Range(64, 1024);

} // namespace
} // namespace bubblescope
