// What a GPU does with the model presets, and how its bubbles compare with theory: figures to be read, not a test.
//   gpu_report [--seconds N] [PRESET…]
// With --seconds nothing is begun after that time; every line is written when it is known, so a run that is cut off
// leaves what it had.
// Times are those of the GPU's events. MFU counts 6 operations for each weight that a token is multiplied with and
// 12 · layers · width · sequence for attention as if it were not causal, as PaLM (Chowdhery et al. 2022) does, over the
// datasheet's dense bf16 rate.

#include "core/theory/analysis.h"
#include "runtime/backend/cuda/cuda_device.h"
#include "runtime/model/stage_layout.h"
#include "tests/gpu/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Weights that tokens are multiplied with: all matrices but the tables of embeddings.
double multipliedWeights(const ModelConfig& model) {
    double sum = 0;
    for (const PartLayout& part : stageLayout(model, StageTask{}))
        sum += part.decays ? static_cast<double>(part.rows) * static_cast<double>(part.columns) : 0.0;
    return sum;
}

ModelConfig modelOf(const ModelPreset& preset, int stages, int batch) {
    ModelConfig model;
    model.width = preset.width;
    model.heads = preset.heads;
    model.sequence = preset.sequence;
    model.batch = batch;
    const int layers = std::max(preset.layers, stages);
    for (int stage = 0; stage < stages; ++stage)
        model.cut.push_back(layers * (stage + 1) / stages - layers * stage / stages);
    return model;
}

void reportPreset(const std::shared_ptr<Accelerator>& gpu, const GpuInfo& info, const ModelPreset& preset, int pp,
                  bool graphs) {
    constexpr int kMicrobatches = 8;
    const std::string label = fmt::format("{:<12} {:>2}{}", preset.name, pp, graphs ? " graphs" : "       ");
    // Some thousand tokens at a time fill a GPU.
    const int batch = std::clamp(8192 / preset.sequence, 1, preset.width > 2000 ? 1 : 16);
    try {
        Run run(gpu, scheduleOf("1f1b", pp, kMicrobatches, 1), modelOf(preset, pp, batch), {}, false);
        const Measured measured = run.measure(4);
        const double step = seconds(median(measured.whole));
        const double tokens = static_cast<double>(kMicrobatches) * batch * preset.sequence;
        ModelConfig whole = modelOf(preset, 1, batch);
        const double flops = tokens * (6.0 * multipliedWeights(whole) +
                                       12.0 * std::max(preset.layers, 1) * preset.width * preset.sequence);
        const std::string mfu =
            info.peak_flops ? fmt::format("{:5.1f} %", 100.0 * flops / step / *info.peak_flops) : std::string("-");
        fmt::print("{}  {:>5} {:>9.0f} tokens/s  {:>7.1f} TFLOP/s  MFU {}  step {:>8.2f} ms  {:>6.1f} GiB  loss "
                   "{:.3f} to {:.3f}\n",
                   label, batch, tokens / step, flops / step * 1e-12, mfu, step * 1e3,
                   static_cast<double>(measured.peak) / (1 << 30), measured.losses.front(), measured.losses.back());
    } catch (const std::exception& e) {
        fmt::print("{}  {}\n", label, e.what());
    }
}

void reportBubbles(const std::shared_ptr<Accelerator>& gpu, const Budget& budget, bool paced) {
    CostModel times;
    times.times.forward = TimeNs{2'000'000};
    times.times.backward = TimeNs{4'000'000};
    times.times.input_grad = TimeNs{2'000'000};
    times.times.weight_grad = TimeNs{2'000'000};
    ModelConfig model; // small enough for the ranks' kernels to run side by side
    model.width = 64;
    model.sequence = 64;
    model.layers_per_stage = 2;
    for (const auto& [name, vpp] :
         {std::pair{"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}}) {
        if (!budget.left()) {
            fmt::print("{:<12}  no time left\n", name);
            continue;
        }
        try {
            const Schedule schedule = scheduleOf(name, 4, 8, vpp);
            Run run(gpu, schedule, model, times, paced);
            const Measured measured = run.measure(6);
            const StepAnalysis analysis = analyzeStep(measured.steps[3], schedule);
            fmt::print("{:<12}", name);
            for (const RankAccount& rank : analysis.ranks) {
                fmt::print("  {:6.3f}", seconds(rank.bubble) * 1e3);
                if (rank.expected_bubble) fmt::print(" ({:6.3f})", seconds(*rank.expected_bubble) * 1e3);
            }
            fmt::print("  wall {:.3f} ms\n", seconds(analysis.wall) * 1e3);
        } catch (const std::exception& e) {
            fmt::print("{:<12}  {}\n", name, e.what());
        }
    }
}

/// How fast products are here at best, to compare the rest with.
void reportProducts(const std::shared_ptr<Accelerator>& gpu) {
    MonotonicClock clock;
    const auto queue = std::make_shared<RankQueue>(gpu, std::make_shared<DeviceTime>(*gpu, clock));
    for (const std::int64_t size : {2048, 8192}) {
        const auto matrix = [&] {
            Buffer buffer = queue->pool().take(size * size * 2);
            const Buffer exact = queue->pool().take(size * size * 4);
            queue->launch(UniformKernel{exact.as<float>(), size * size, 17, 1.0F});
            queue->launch(RoundKernel{buffer.as<Bf16>(), exact.as<float>(), size * size});
            return buffer;
        };
        const Buffer a = matrix();
        const Buffer b = matrix();
        const Buffer c = matrix();
        Gemm gemm;
        gemm.rows = gemm.columns = gemm.inner = size;
        gemm.in = gemm.out = Storage::Bf16;
        gemm.a = {a.as<void>(), size, 0, true};
        gemm.b = {b.as<void>(), size, 0, false};
        gemm.result = {c.as<void>(), size, 0, false};
        const Accelerator::Event begin = gpu->makeEvent(true);
        const Accelerator::Event end = gpu->makeEvent(true);
        constexpr int kTimes = 20;
        for (int i = -3; i < kTimes; ++i) {
            if (i == 0) gpu->record(begin, queue->stream());
            gpu->multiply(gemm, queue->stream());
        }
        gpu->record(end, queue->stream());
        queue->finish();
        const double each = seconds(gpu->elapsed(begin, end)) / kTimes;
        const auto n = static_cast<double>(size);
        fmt::print("bf16 product of {0} x {0} x {0}: {1:.0f} TFLOP/s\n", size, 2.0 * n * n * n / each * 1e-12);
        gpu->destroy(begin);
        gpu->destroy(end);
    }
}

int report(std::span<char*> presets) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::optional<int> limit;
    if (presets.size() >= 2 && std::strcmp(presets[0], "--seconds") == 0) {
        const char* const text = presets[1];
        int number = 0;
        const auto parsed = std::from_chars(text, text + std::strlen(text), number);
        if (parsed.ec != std::errc{} || *parsed.ptr != '\0') {
            fmt::print(stderr, "--seconds takes a number, not '{}'\n", text);
            return 2;
        }
        limit = number;
        presets = presets.subspan(2);
    }
    const Budget budget(limit);
    const Result<GpuInfo> info = gpuInfo(0);
    if (!info.ok()) {
        fmt::print(stderr, "{}\n", info.error().text());
        return 1;
    }
    const Result<std::shared_ptr<Accelerator>> gpu = openGpu(0);
    if (!gpu.ok()) {
        fmt::print(stderr, "{}\n", gpu.error().text());
        return 1;
    }
    const Result<std::shared_ptr<Accelerator>> graphs = openGpu(0, true);
    if (!graphs.ok()) {
        fmt::print(stderr, "{}\n", graphs.error().text());
        return 1;
    }
    gpu.value()->bindThread();
    fmt::print("GPU: {}, {} MiB\n", info.value().name, info.value().memory >> 20);
    if (budget.left()) reportProducts(gpu.value());
    fmt::print("\nBubbles by rank in ms (theory), 4 ranks, 8 micro-batches, ops held for their nominal times:\n");
    reportBubbles(gpu.value(), budget, true);
    fmt::print("\nThe same, ops as long as their kernels; theory with the median times that were measured:\n");
    reportBubbles(gpu.value(), budget, false);
    fmt::print("\nChecks in bubbles, on in every other step (medians of the steps), 4 ranks, 8 micro-batches, bf16:\n");
    reportCheckedSteps(gpu.value(), budget, false);
    reportCheckedSteps(graphs.value(), budget, true);
    fmt::print("\nBits flipped in what is checked, ops held for their nominal times:\n");
    reportCampaign(gpu.value(), budget);
    fmt::print("\npreset       ranks         batch; 1F1B, 8 micro-batches, bf16\n");
    for (const ModelPreset& preset : modelPresets()) {
        if (!presets.empty() && std::ranges::none_of(presets, [&](const char* name) { return preset.name == name; }))
            continue;
        for (const auto& [pp, with_graphs] : {std::pair{1, false}, {4, false}, {4, true}}) {
            if (budget.left()) {
                reportPreset(with_graphs ? graphs.value() : gpu.value(), info.value(), preset, pp, with_graphs);
            } else {
                fmt::print("{:<12} {:>2}  no time left\n", preset.name, pp);
            }
        }
    }
    return 0;
}

} // namespace
} // namespace bubblescope::runtime

int main(int argc, char** argv) {
    try {
        return bubblescope::runtime::report(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    }
}
