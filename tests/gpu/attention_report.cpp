// Attention by own kernels and by cuDNN in turns: which one should be the default?

#include "core/base/median.h"
#include "tests/gpu/gpu_run.h"
#include "tests/gpu/report_device.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

struct Shape {
    const char* name;
    int sequences;
    int heads;
    int rows;
    int width;

    /// Operations of the visible half of the scores: two products in the forward pass, five in the backward pass.
    [[nodiscard]] double forwardFlops() const { return 2.0 * sequences * heads * width * std::pow(rows, 2.0); }
    [[nodiscard]] double backwardFlops() const { return 2.5 * forwardFlops(); }
};

/// One layer's attention on a device, with queries, keys and values of a token side by side.
class AttentionBench {
public:
    AttentionBench(const std::shared_ptr<Accelerator>& gpu, const Shape& shape)
        : gpu_(*gpu), queue_(std::make_shared<RankQueue>(gpu, std::make_shared<DeviceTime>(*gpu, clock_))) {
        const std::int64_t width = std::int64_t{shape.heads} * shape.width;
        const std::int64_t tokens = std::int64_t{shape.sequences} * shape.rows;
        qkv_ = numbers(tokens * 3 * width, 1);
        output_grad_ = numbers(tokens * width, 2);
        output_ = queue_->pool().take(tokens * width * 2);
        grad_ = queue_->pool().take(tokens * 3 * width * 2);
        logs_ = queue_->pool().take(tokens * shape.heads * 4);
        along_ = queue_->pool().take(tokens * shape.heads * 4);
        const auto part = [&](const Buffer& buffer, int number, int parts) {
            return HeadRows<Bf16>{buffer.as<Bf16>() + number * width, parts * width, shape.rows * parts * width};
        };
        const auto given = [](const HeadRows<Bf16>& rows) {
            return HeadRows<const Bf16>{rows.data, rows.row, rows.sequence};
        };
        forward_.sizes = {shape.sequences, shape.heads, shape.width,
                          shape.rows,      shape.rows,  1 / std::sqrt(static_cast<float>(shape.width))};
        forward_.queries = given(part(qkv_, 0, 3));
        forward_.keys = given(part(qkv_, 1, 3));
        forward_.values = given(part(qkv_, 2, 3));
        forward_.output = part(output_, 0, 1);
        forward_.logs = logs_.as<float>();
        backward_.sizes = forward_.sizes;
        backward_.queries = forward_.queries;
        backward_.keys = forward_.keys;
        backward_.values = forward_.values;
        backward_.output = given(forward_.output);
        backward_.output_grad = given(part(output_grad_, 0, 1));
        backward_.logs = logs_.as<float>();
        backward_.along = along_.as<float>();
        backward_.queries_grad = part(grad_, 0, 3);
        backward_.keys_grad = part(grad_, 1, 3);
        backward_.values_grad = part(grad_, 2, 3);
        for (Accelerator::Event& event : events_)
            event = gpu_.makeEvent(true);
        step();
        before_ = bitsOf(grad_);
    }
    AttentionBench(const AttentionBench&) = delete;
    AttentionBench& operator=(const AttentionBench&) = delete;
    ~AttentionBench() {
        for (Accelerator::Event event : events_)
            gpu_.destroy(event);
    }

    void step() {
        gpu_.record(events_[0], queue_->stream());
        gpu_.attend(forward_, queue_->stream());
        gpu_.record(events_[1], queue_->stream());
        gpu_.attendBackward(backward_, queue_->stream());
        gpu_.record(events_[2], queue_->stream());
        queue_->finish();
    }
    /// Keeps the times of some steps.
    void measure(int steps) {
        for (int i = 0; i < steps; ++i) {
            step();
            forwards_.push_back(gpu_.elapsed(events_[0], events_[1]));
            backwards_.push_back(gpu_.elapsed(events_[1], events_[2]));
        }
    }
    [[nodiscard]] double forward() const { return seconds(bubblescope::median(forwards_)); }
    [[nodiscard]] double backward() const { return seconds(bubblescope::median(backwards_)); }
    /// True if the gradients still have the bits of the first step.
    [[nodiscard]] bool repeats() { return bitsOf(grad_) == before_; }
    [[nodiscard]] std::vector<std::uint16_t> output() { return bitsOf(output_); }

private:
    Buffer numbers(std::int64_t count, std::uint64_t seed) {
        Buffer buffer = queue_->pool().take(count * 2);
        const Buffer exact = queue_->pool().take(count * 4);
        queue_->launch(UniformKernel{exact.as<float>(), count, seed, 1.0F});
        queue_->launch(RoundKernel{buffer.as<Bf16>(), exact.as<float>(), count});
        return buffer;
    }
    std::vector<std::uint16_t> bitsOf(const Buffer& buffer) {
        std::vector<std::uint16_t> bits(static_cast<std::size_t>(buffer.bytes()) / sizeof(std::uint16_t));
        gpu_.copyOut(bits.data(), buffer.as<void>(), buffer.bytes(), queue_->stream());
        return bits;
    }

    Accelerator& gpu_;
    MonotonicClock clock_;
    std::shared_ptr<RankQueue> queue_;
    Buffer qkv_, output_grad_, output_, grad_, logs_, along_;
    FusedAttention forward_;
    FusedAttentionGradient backward_;
    std::array<Accelerator::Event, 3> events_{};
    std::vector<TimeNs> forwards_;
    std::vector<TimeNs> backwards_;
    std::vector<std::uint16_t> before_;
};

void reportShape(const ReportDevice& device, const Shape& shape) {
    const int steps = device.every_preset ? 20 : 2;
    AttentionBench own(device.plain, shape);
    AttentionBench other(device.cudnn, shape);
    double difference = 0; // of outputs, relative to their norm
    double norm = 0;
    const std::vector<std::uint16_t> bits = own.output();
    const std::vector<std::uint16_t> other_bits = other.output();
    for (std::size_t i = 0; i < bits.size(); ++i) {
        const double value = load(Bf16{bits[i]});
        difference += std::pow(value - static_cast<double>(load(Bf16{other_bits[i]})), 2.0);
        norm += value * value;
    }
    const auto warm = std::chrono::steady_clock::now() + std::chrono::duration<double>(device.warm_seconds);
    do {
        own.step();
        other.step();
    } while (std::chrono::steady_clock::now() < warm);
    for (AttentionBench* const bench : {&own, &other, &other, &own})
        bench->measure(steps);
    for (const auto& [name, bench] : {std::pair{"own", &own}, {"cuDNN", &other}}) {
        const auto rate = [](double flops, double time) { return time > 0 ? flops / time * 1e-12 : 0.0; };
        fmt::print("{:<14} {:<6} forward {:8.1f} us ({:4.0f} TFLOP/s)  backward {:8.1f} us ({:4.0f} TFLOP/s)  {}\n",
                   shape.name, name, bench->forward() * 1e6, rate(shape.forwardFlops(), bench->forward()),
                   bench->backward() * 1e6, rate(shape.backwardFlops(), bench->backward()),
                   bench->repeats() ? "repeatable" : "NOT REPEATABLE: its gradients differ from step to step");
    }
    const double ours = own.forward() + own.backward();
    const double theirs = other.forward() + other.backward();
    fmt::print("{:<14} cuDNN takes {:.3f} of the time of own kernels; outputs differ by {:.1e}\n", shape.name,
               ours > 0 ? theirs / ours : 0.0, norm > 0 ? std::sqrt(difference / norm) : 0.0);
}

} // namespace

void reportAttention(const ReportDevice& device, const Budget& budget) {
    if (!device.cudnn) {
        fmt::print("attention is not compared: {}\n", device.why_no_cudnn);
        return;
    }
    fmt::print("\nAttention alone, bf16, causal, own kernels and cuDNN in turns (A B B A):\n");
    if (const std::string note = device.cudnn->attentionNote(); !note.empty()) fmt::print("{}\n", note);
    const int rows = device.every_preset ? 1024 : 4;
    for (const Shape& shape : {Shape{"gpt2", 8, 12, rows, 64}, Shape{"gpt2-xl", 8, 25, rows, 64},
                               Shape{"gpt2, 8x rows", 1, 12, 8 * rows, 64}}) {
        if (!budget.left()) {
            fmt::print("{:<14} no time left\n", shape.name);
            continue;
        }
        try {
            reportShape(device, shape);
        } catch (const std::exception& e) {
            fmt::print("{:<14} {}\n", shape.name, e.what());
        }
    }
}

} // namespace bubblescope::runtime
