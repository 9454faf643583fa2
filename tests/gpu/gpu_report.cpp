// The speed of a GPU with the model presets, and its bubbles compared with theory: figures for people, not a test.
//   gpu_report [--seconds N] [--part products|bubbles|checks|speed|attention]… [PRESET…]
// With --seconds nothing is begun after that time; every line is written when it is known, so a run that is cut off
// leaves what it had. Without --part all parts; presets are those of the part `speed`.
// Times are those of the GPU's events; a step lasts from its begin to that of the next. MFU counts 6 operations for
// each weight that a token is multiplied with and 12 · layers · width · sequence for attention as if it were not
// causal, as PaLM (Chowdhery et al. 2022) does, over the datasheet's dense bf16 rate. With causal attention halved
// there are two more figures: of that rate, and of the rate of the best product that was measured here. The models read
// bytes: their vocabulary has 256 entries, so MFU is not comparable with that of a model with a large output layer.

#include "core/theory/analysis.h"
#include "runtime/model/stage_layout.h"
#include "tests/gpu/gpu_run.h"
#include "tests/gpu/report_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

constexpr int kWidestOnCpu = 32;

/// Weights that tokens are multiplied with: all matrices but the tables of embeddings.
double multipliedWeights(const ModelConfig& model) {
    double sum = 0;
    for (const PartLayout& part : stageLayout(model, StageTask{}))
        sum += part.decays ? static_cast<double>(part.rows) * static_cast<double>(part.columns) : 0.0;
    return sum;
}

ModelConfig modelOf(const ModelPreset& preset, int stages, int batch) {
    ModelConfig model;
    model.width = static_cast<int>(preset.shape.hidden);
    model.heads = static_cast<int>(preset.shape.heads);
    model.sequence = static_cast<int>(preset.shape.sequence);
    model.batch = batch;
    const int layers = std::max(static_cast<int>(preset.shape.layers), stages);
    for (int stage = 0; stage < stages; ++stage)
        model.cut.push_back(layers * (stage + 1) / stages - layers * stage / stages);
    return model;
}

/// Steps that together take long enough for the GPU's clocks and power to settle.
Measured measureSteady(const std::shared_ptr<Accelerator>& gpu, const Schedule& schedule, const ModelConfig& model) {
    constexpr double kSeconds = 5;
    const Measured first = Run(gpu, schedule, model, {}, false).measure(4);
    const double steps = std::clamp(kSeconds / seconds(median(first.periods)), 10.0, 400.0);
    return Run(gpu, schedule, model, {}, false).measure(static_cast<int>(steps));
}

/// `how` tells what is different about the device.
void reportPreset(const ReportDevice& device, const std::shared_ptr<Accelerator>& gpu, std::string_view how,
                  const ModelPreset& preset, int pp, double best_product) {
    constexpr int kMicrobatches = 8;
    const std::string label = fmt::format("{:<12} {:>2} {:<6}", preset.name, pp, how);
    // Some thousand tokens at a time fill a GPU.
    const auto sequence = static_cast<int>(preset.shape.sequence);
    const int batch = std::clamp(8192 / sequence, 1, preset.shape.hidden > 2000 ? 1 : 16);
    try {
        const Measured measured =
            measureSteady(gpu, scheduleOf("1f1b", pp, kMicrobatches, 1), modelOf(preset, pp, batch));
        const double step = seconds(median(measured.periods));
        const double tokens = static_cast<double>(kMicrobatches) * batch * sequence;
        ModelConfig whole = modelOf(preset, 1, batch);
        const auto layers = static_cast<double>(std::max<std::int64_t>(preset.shape.layers, 1));
        const double attention = 12.0 * layers * whole.width * sequence;
        const double flops = tokens * (6.0 * multipliedWeights(whole) + attention);
        const double causal = flops - tokens * attention / 2;
        const auto share = [&](double operations, double rate) {
            return rate > 0 ? fmt::format("{:5.1f} %", 100.0 * operations / step / rate) : std::string("-");
        };
        const double peak = device.peak_flops.value_or(0);
        fmt::print("{}  {:>5} {:>9.0f} tokens/s  {:>7.1f} TFLOP/s  MFU {} (causal {}, of the best product {})  step "
                   "{:>8.2f} ms (of {})  {:>6.1f} GiB  loss {:.3f} to {:.3f}\n",
                   label, batch, tokens / step, flops / step * 1e-12, share(flops, peak), share(causal, peak),
                   share(causal, best_product), step * 1e3, measured.periods.size(),
                   static_cast<double>(measured.peak) / (1 << 30), measured.losses.front(), measured.losses.back());
    } catch (const std::exception& e) {
        fmt::print("{}  {}\n", label, e.what());
    }
}

/// Ops are held for nominal times, or take as long as their kernels do on processors of their rank's own.
void reportBubbles(const ReportDevice& device, const Budget& budget, bool paced) {
    CostModel times;
    times.times.forward = TimeNs{2'000'000};
    times.times.backward = TimeNs{4'000'000};
    times.times.input_grad = TimeNs{2'000'000};
    times.times.weight_grad = TimeNs{2'000'000};
    ModelConfig model;
    model.width = paced ? device.bubble_width : device.checked_width;
    model.sequence = paced ? device.bubble_width : device.checked_width;
    model.heads = paced ? model.heads : std::max(device.checked_width / 64, 1);
    model.batch = paced ? model.batch : std::max(device.checked_width / 128, 1);
    model.layers_per_stage = 2;
    for (const auto& [name, vpp] :
         {std::pair{"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"zb-h1", 1}, {"zb-v", 2}}) {
        if (!budget.left()) {
            fmt::print("{:<12}  no time left\n", name);
            continue;
        }
        try {
            const Schedule schedule = scheduleOf(name, 4, 8, vpp);
            Run run(device.plain, schedule, model, times, paced);
            if (!paced) run.divide();
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

/// Operations per second of the best product, to compare the rest with.
double reportProducts(const std::shared_ptr<Accelerator>& gpu, std::span<const std::int64_t> sizes) {
    double best = 0;
    MonotonicClock clock;
    const auto queue = std::make_shared<RankQueue>(gpu, std::make_shared<DeviceTime>(*gpu, clock));
    for (const std::int64_t size : sizes) {
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
        best = std::max(best, 2.0 * n * n * n / each);
        gpu->destroy(begin);
        gpu->destroy(end);
    }
    return best;
}

constexpr std::array<std::string_view, 5> kParts{"products", "bubbles", "checks", "speed", "attention"};

struct ReportArguments {
    std::optional<int> seconds;
    std::vector<std::string_view> parts; ///< empty = all
    std::vector<std::string_view> presets;

    [[nodiscard]] bool wants(std::string_view part) const {
        return parts.empty() || std::ranges::count(parts, part) > 0;
    }
};

Result<ReportArguments> parseArguments(std::span<char*> given) {
    ReportArguments arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string_view word = given[i];
        const std::string_view value = i + 1 < given.size() ? given[i + 1] : "";
        if (word == "--seconds") {
            int number = 0;
            const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
            if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size())
                return usageError(fmt::format("--seconds takes a number, not '{}'", value));
            arguments.seconds = number;
            ++i;
        } else if (word == "--part") {
            if (std::ranges::count(kParts, value) == 0)
                return usageError(fmt::format("the report has no part '{}'", value),
                                  fmt::format("one of {}", fmt::join(kParts, ", ")));
            arguments.parts.push_back(value);
            ++i;
        } else if (std::ranges::count(trainedModels(), word, &ModelPreset::name) == 0) {
            return usageError(fmt::format("unknown model preset '{}'", word));
        } else {
            arguments.presets.push_back(word);
        }
    }
    return arguments;
}

void reportBubblesOf(const ReportDevice& device, const Budget& budget) {
    fmt::print("\nBubbles by rank in ms (theory), 4 ranks, 8 micro-batches, ops held for their nominal times:\n");
    reportBubbles(device, budget, true);
    fmt::print(
        "\nThe same, ops as long as their kernels, each rank on processors of its own; theory with the median times "
        "that were measured:\n");
    reportBubbles(device, budget, false);
}

void reportChecks(const ReportDevice& device, const Budget& budget) {
    fmt::print("\nChecks in bubbles (medians of steps), 4 ranks with processors of their own, "
               "8 micro-batches, bf16:\n");
    reportCheckedSteps(device.plain, budget, false, device.checked_width);
    reportCheckedSteps(device.graphs, budget, true, device.checked_width);
    fmt::print("\nBits flipped in what is checked, ops held for their nominal times:\n");
    reportCampaign(device.plain, budget, device.bubble_width);
}

void reportSpeed(const ReportDevice& device, const Budget& budget, std::span<const std::string_view> names,
                 double best_product) {
    fmt::print("\npreset       ranks         batch; 1F1B, 8 micro-batches, bf16, vocabulary of 256 bytes\n");
    for (const ModelPreset& preset : trainedModels()) {
        if (!names.empty() && std::ranges::count(names, preset.name) == 0) continue;
        if (!device.every_preset && preset.shape.hidden > kWidestOnCpu) continue;
        for (const auto& [pp, graphs] : {std::pair{1, false}, {1, true}, {4, false}, {4, true}}) {
            if (budget.left()) {
                reportPreset(device, graphs ? device.graphs : device.plain, graphs ? "graphs" : "", preset, pp,
                             best_product);
            } else {
                fmt::print("{:<12} {:>2}  no time left\n", preset.name, pp);
            }
        }
    }
}

/// Steps of models with one attention and the other, in turns.
void reportModelsWithAttention(const ReportDevice& device, const Budget& budget) {
    if (!device.cudnn) return;
    fmt::print("\nSteps with either attention (A B B A), 1F1B, 8 micro-batches, bf16:\n");
    for (const ModelPreset& preset : trainedModels()) {
        const bool asked = device.every_preset ? preset.name == "gpt2" || preset.name == "gpt2-xl"
                                               : preset.shape.hidden <= kWidestOnCpu;
        if (!asked) continue;
        for (const bool own : {true, false, false, true}) {
            if (budget.left())
                reportPreset(device, own ? device.plain : device.cudnn, own ? "own" : "cuDNN", preset, 1, 0);
        }
    }
}

int report(std::span<char*> given) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const Result<ReportArguments> arguments = parseArguments(given);
    if (!arguments.ok()) {
        fmt::print(stderr, "{}\n", arguments.error().text());
        return 2;
    }
    const Budget budget(arguments.value().seconds);
    const Result<ReportDevice> opened = openReportDevice();
    if (!opened.ok()) {
        fmt::print(stderr, "{}\n", opened.error().text());
        return 1;
    }
    const ReportDevice& device = opened.value();
    device.plain->bindThread();
    fmt::print("GPU: {}, {} MiB\n", device.name, device.memory >> 20);
    const bool speed = arguments.value().wants("speed"); // it is stated as a share of the best product, too
    double best_product = 0;
    if ((speed || arguments.value().wants("products")) && budget.left())
        best_product = reportProducts(device.plain, device.products);
    if (arguments.value().wants("bubbles")) reportBubblesOf(device, budget);
    if (arguments.value().wants("checks")) reportChecks(device, budget);
    if (arguments.value().wants("attention")) {
        reportAttention(device, budget);
        reportModelsWithAttention(device, budget);
    }
    if (speed) reportSpeed(device, budget, arguments.value().presets, best_product);
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
