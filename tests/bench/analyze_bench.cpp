// Analysis of a run, all that `analyze` does once it is loaded, on all cores: clocks, bubbles, closed forms,
// accounting, critical path, blame, findings. The run is 64 ranks of 1F1B, or interleaved with 4 chunks, with jitter on
// every op and transfer, in steps of 64 micro-batches a chunk. `items_per_second` are ops; the argument is the number
// of steps.

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <benchmark/benchmark.h>

#include <malloc.h>
#include <random>

namespace bubblescope {
namespace {

struct Shape {
    const char* schedule;
    int microbatches;
    int vpp;
    int ranks = 64;
};

Run jitteredRun(const Shape& shape, int steps) {
    Run run;
    run.schedule = makeSchedule({shape.schedule, "", shape.ranks, shape.microbatches, shape.vpp}).value();
    std::mt19937 random(1);
    std::uniform_int_distribution<int> jitter(950'000, 1'050'000);
    for (int index = 0; index < steps; ++index) {
        auto times = std::make_shared<MeasuredTimes>();
        for (std::size_t r = 0; r < run.schedule.ranks.size(); ++r) {
            for (const Op& op : run.schedule.ranks[r])
                times->setOp(Rank{r}, op, TimeNs{jitter(random) * (op.kind == OpKind::Forward ? 1 : 2)});
        }
        CostModel costs;
        costs.comm = TimeNs{50'000};
        costs.measured = std::move(times);
        run.steps.push_back(simulate(run.schedule, costs).value());
        run.steps.back().index = index;
    }
    return run;
}

std::int64_t opsOf(const Run& run) {
    return static_cast<std::int64_t>(run.schedule.opCount() * run.steps.size());
}

void analysisOf(benchmark::State& state, const Shape& shape, int steps) {
    Run run = jitteredRun(shape, steps);
    malloc_trim(0); // the next large allocation would put in order what making the run has freed
    for (auto _ : state) {
        DiagnosedRun diagnosed = diagnoseRun(std::move(run)).value();
        benchmark::DoNotOptimize(diagnosed);
        run = std::move(diagnosed.run);
    }
    state.SetItemsProcessed(state.iterations() * opsOf(run));
    state.counters["ops"] = static_cast<double>(opsOf(run));
}

void analysis(benchmark::State& state, const Shape& shape) {
    analysisOf(state, shape, static_cast<int>(state.range(0)));
}

void diagnosis(benchmark::State& state, const Shape& shape) {
    const Run run = jitteredRun(shape, static_cast<int>(state.range(0)));
    for (auto _ : state)
        benchmark::DoNotOptimize(StepDiagnoses(run, selectSteps(run.steps)).all());
    state.SetItemsProcessed(state.iterations() * opsOf(run));
    state.counters["ops"] = static_cast<double>(opsOf(run));
}

void bubbles(benchmark::State& state, const Shape& shape) {
    const Run run = jitteredRun(shape, static_cast<int>(state.range(0)));
    for (auto _ : state) {
        for (const StepTimeline& step : run.steps)
            benchmark::DoNotOptimize(analyzeStep(step, run.schedule));
    }
    state.SetItemsProcessed(state.iterations() * opsOf(run));
}

/// One step of 256 micro-batches; the argument is the number of ranks.
void ranks(benchmark::State& state) {
    analysisOf(state, {"1f1b", 256, 1, static_cast<int>(state.range(0))}, 1);
}

/// Steps of four micro-batches on 64 ranks; the argument is their number.
void steps(benchmark::State& state) {
    analysisOf(state, {"1f1b", 4, 1}, static_cast<int>(state.range(0)));
}

void sizes(benchmark::internal::Benchmark* bench) {
    for (const int steps : {4, 16, 64, 128})
        bench->Arg(steps);
    bench->Unit(benchmark::kMillisecond);
}

void findings(benchmark::State& state, const Shape& shape) {
    const Run run = jitteredRun(shape, static_cast<int>(state.range(0)));
    const RunReport report = analyzeRun(run);
    const Thresholds thresholds;
    const SliceEvidence no_slices;
    for (auto _ : state) {
        benchmark::DoNotOptimize(findAnomalies({.run = run,
                                                .analyses = report.steps,
                                                .selection = report.selection,
                                                .clocks = report.clocks,
                                                .limits = thresholds,
                                                .slices = no_slices}));
    }
    state.SetItemsProcessed(state.iterations() * opsOf(run));
}

// 7,812 micro-batches in one step: a million ops that depend on each other.
BENCHMARK_CAPTURE(analysis, 1f1b, Shape{"1f1b", 64, 1})->Apply(sizes)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(analysis, 1f1b_step_of_122k, Shape{"1f1b", 976, 1})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(analysis, 1f1b_step_of_1M, Shape{"1f1b", 7812, 1})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(analysis, interleaved_v4, Shape{"interleaved", 64, 4})
    ->Arg(1)
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ranks)->RangeMultiplier(4)->Range(4, 4096)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(steps)->RangeMultiplier(10)->Range(10, 10'000)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(diagnosis, 1f1b, Shape{"1f1b", 64, 1})->Apply(sizes)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(findings, 1f1b, Shape{"1f1b", 64, 1})->Apply(sizes)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(findings, 1f1b_step_of_1M, Shape{"1f1b", 7812, 1})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(diagnosis, 1f1b_step_of_1M, Shape{"1f1b", 7812, 1})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(bubbles, 1f1b, Shape{"1f1b", 64, 1})->Arg(128)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace bubblescope
