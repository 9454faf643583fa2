// The cost of the engine beyond the maths: stages that compute nothing, in-process transport, not paced. The figure is
// processor time of all ranks together per op, so that waiting for another rank does not count.

#include "core/families/registry.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/engine/engine.h"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::runtime;

/// Hands on the smallest of tensors.
class NoMaths final : public StageModel {
public:
    Tensor forward(Piece, Tensor input) override { return pass(std::move(input)); }
    Tensor backwardInput(Piece, Tensor grad) override { return pass(std::move(grad)); }
    void backwardWeight(Piece) override {}
    Tensor takeGradient() override { return {}; }
    void applyGradient(const Tensor&) override {}
    double takeLoss() override { return 0.0; }
    [[nodiscard]] MemoryUse memory() const override { return {}; }
    [[nodiscard]] std::uint64_t digest(std::uint64_t hash) const override { return hash; }

private:
    static Tensor pass(Tensor tensor) { return tensor.empty() ? Tensor(HostMatrix(1, 1)) : std::move(tensor); }
};

std::chrono::nanoseconds processorTime() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto of = [](const timeval& time) {
        return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
    };
    return of(used.ru_utime) + of(used.ru_stime);
}

void engine(benchmark::State& state, const std::string& family, int pp, int vpp) {
    EngineConfig config;
    config.schedule = makeSchedule({family, "", pp, 4 * pp, vpp}).value();
    config.steps = 200;
    config.paced = false;
    MonotonicClock clock;
    std::int64_t ops = 0;
    std::chrono::nanoseconds took{0};
    for ([[maybe_unused]] auto round : state) {
        InProcessTransports transports(pp, clock, std::chrono::seconds(60));
        std::vector<std::unique_ptr<profiler::RecordRing>> rings;
        EngineParts parts{.clock = clock,
                          .make_stage = [](const StageTask&) { return std::make_unique<NoMaths>(); },
                          .ranks = transports.ends()};
        for (int r = 0; r < pp; ++r)
            parts.rings.push_back(rings.emplace_back(std::make_unique<profiler::RecordRing>(1U << 16U)).get());
        JobControl control;
        const auto begin = processorTime();
        const Result<EngineResult> result = runEngine(config, parts, control);
        took += processorTime() - begin;
        if (!result.ok()) return state.SkipWithError(result.error().text().c_str());
        ops += result.value().ops;
    }
    state.counters["us_per_op"] = static_cast<double>(took.count()) / 1e3 / static_cast<double>(ops);
    state.counters["ops"] = static_cast<double>(ops);
}

BENCHMARK_CAPTURE(engine, one_rank, "1f1b", 1, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine, two_ranks, "1f1b", 2, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine, four_ranks, "1f1b", 4, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine, four_ranks_two_chunks, "interleaved", 4, 2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(engine, four_ranks_split_backward, "zb-h1", 4, 1)->Unit(benchmark::kMillisecond);

} // namespace
