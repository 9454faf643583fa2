// What-if on one step of 1,024 ranks: 16 pipeline ranks, 64 replicas, 64 micro-batches, every op with a different time.
// The argument is the number of replicas.

#include "core/analysis/whatif/scenario.h"
#include "core/analysis/whatif/straggler_study.h"
#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <benchmark/benchmark.h>

#include <random>

namespace bubblescope {
namespace {

Run makeRun(int replicas) {
    Run run;
    run.files = {"simulated"};
    run.schedule = makeSchedule({"1f1b", "", 16, 64, 1}).value();
    std::mt19937 random(7);
    for (int replica = 0; replica < replicas; ++replica) {
        auto measured = std::make_shared<MeasuredTimes>();
        for (std::size_t r = 0; r < run.schedule.ranks.size(); ++r) {
            for (const Op& op : run.schedule.ranks[r]) {
                const std::int64_t usual = op.kind == OpKind::Forward ? 5'000'000 : 10'000'000;
                measured->setOp(Rank{r}, op, TimeNs{usual + static_cast<std::int64_t>(random() % 500'000)});
            }
        }
        CostModel costs;
        costs.comm = TimeNs{200'000};
        costs.measured = measured;
        run.steps.push_back(simulate(run.schedule, costs).value());
        run.steps.back().replica = replica;
    }
    return run;
}

const Run& runOf(const benchmark::State& state) {
    static const Run small = makeRun(4);
    static const Run large = makeRun(64);
    return state.range(0) == 4 ? small : large;
}

void count(benchmark::State& state, const RunModel& model) {
    state.counters["nodes"] = model.graph().size();
    state.counters["ranks"] = static_cast<double>(model.replicas.size()) * model.pp;
}

void graph(benchmark::State& state) {
    const Run& run = runOf(state);
    for (auto _ : state)
        benchmark::DoNotOptimize(runModel(run).value());
    count(state, runModel(run).value());
}

void study(benchmark::State& state) {
    const RunModel model = runModel(runOf(state)).value();
    for (auto _ : state)
        benchmark::DoNotOptimize(studyStragglers(model));
    count(state, model);
}

void scenario(benchmark::State& state, const char* change) {
    const Run& run = runOf(state);
    const RunModel model = runModel(run).value();
    const Scenario what = parseScenario(std::vector<std::string>{change}).value();
    for (auto _ : state)
        benchmark::DoNotOptimize(predict(model, run.schedule, what).value());
    count(state, model);
}

BENCHMARK(graph)->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(study)->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scenario, rank, "rank:3=usual")->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scenario, link, "link:2-3=2x")->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scenario, schedule, "schedule=zb-h1")->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace bubblescope
