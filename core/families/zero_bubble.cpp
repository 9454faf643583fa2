// Zero-bubble orders (Qi et al., 2023) with a fixed form: backwards are split and weight gradients deferred, so that
// input gradients reach the earlier ranks sooner.
//
// ZB-H1 needs the memory of 1F1B and runs in its order.
//   handcrafted   rank s runs its weight gradients s behind its input gradients, to the end
//   paddle        only the first s backwards and the last one are split; their weight gradients come at the
//                 end. Rank 0 runs whole backwards
//
// ZB-H2, zero bubble at twice the memory of 1F1B: rank s runs 2(p−s)−1 warm-up forwards, enough to fill its wait for
// the first input gradient; then input gradients and forwards in alternation, with weight gradients 2s behind, so that
// every rank ends its work shortly after the last rank.
//
// Interleaved zero-bubble, PyTorch's: micro-batches go through the chunks in max(1, m div p) groups of N as in
// interleaved_1f1b.cpp, but rank s runs only (v−1)·N + p−s−1 warm-up forwards, as in 1F1B, because the steady phase
// alternates forwards with input gradients; weight gradients follow s behind. With v = 1 this is ZB-H1.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bubblescope {
namespace {

/// 1F1B with split backwards: `warmup` forwards, then forwards and input gradients in alternation, then the remaining
/// input gradients. From input gradient number `lag` on (counted from 0) each is followed by the oldest deferred weight
/// gradient; the last `lag` of those come at the end. `forward(k)` gives the k-th forward, `input(k)` the k-th input
/// gradient, whose weight gradient is the k-th as well.
template <class Forward, class Input>
[[nodiscard]] std::vector<Op> delayedWeightOrder(int count, int warmup, int lag, Forward forward, Input input) {
    std::vector<Op> ops;
    ops.reserve(3 * static_cast<std::size_t>(count));
    const auto weight = [&input](int k) {
        Op op = input(k);
        op.kind = OpKind::BackwardWeight;
        return op;
    };
    for (int k = 0; k < warmup; ++k)
        ops.push_back(forward(k));
    for (int k = 0; k < count; ++k) {
        if (warmup + k < count) ops.push_back(forward(warmup + k));
        ops.push_back(input(k));
        if (k >= lag) ops.push_back(weight(k - lag));
    }
    for (int k = std::max(0, count - lag); k < count; ++k)
        ops.push_back(weight(k));
    return ops;
}

Op op(OpKind kind, int microbatch) {
    return {kind, Microbatch{microbatch}, Chunk{0}};
}

std::vector<Op> handcraftedOrder(int p, int m, int s) {
    return delayedWeightOrder(
        m, std::min(m, p - s - 1), s, [](int k) { return op(OpKind::Forward, k); },
        [](int k) { return op(OpKind::BackwardInput, k); });
}

std::vector<Op> paddleH1Order(int p, int m, int s) {
    auto ops = phaseOrder(
        m, p - s - 1, [](int k) { return op(OpKind::Forward, k); },
        [=](int k) {
            const bool split = k < s || (k == m - 1 && s > 0);
            return op(split ? OpKind::BackwardInput : OpKind::Backward, k);
        });
    if (s > 0) ops.push_back(op(OpKind::BackwardWeight, m - 1));
    for (int k = 0; k < s; ++k)
        ops.push_back(op(OpKind::BackwardWeight, k));
    return ops;
}

Result<Schedule> generateZbH1(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved-zb or zb-v"));
    const bool paddle = spec.flavor == "paddle";
    if (paddle && m < p) {
        return usageError(fmt::format("zb-h1 (paddle) needs m ≥ p: {} micro-batches, {} ranks", m, p),
                          "use more micro-batches, or flavor handcrafted");
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(paddle ? paddleH1Order(p, m, s) : handcraftedOrder(p, m, s));
    return schedule;
}

std::vector<Op> h2Order(int p, int m, int s) {
    const int warmup = std::min(m, 2 * (p - s) - 1);
    const int lag = 2 * s;
    std::vector<Op> ops;
    for (int k = 0; k < warmup; ++k)
        ops.push_back(op(OpKind::Forward, k));
    for (int k = 0; k < m; ++k) {
        ops.push_back(op(OpKind::BackwardInput, k));
        if (k >= lag) ops.push_back(op(OpKind::BackwardWeight, k - lag));
        if (warmup + k < m) ops.push_back(op(OpKind::Forward, warmup + k));
    }
    for (int k = std::max(0, m - lag); k < m; ++k)
        ops.push_back(op(OpKind::BackwardWeight, k));
    return ops;
}

Result<Schedule> generateZbH2(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved-zb or zb-v"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(h2Order(spec.pp, spec.microbatches, s));
    return schedule;
}

/// The k-th op of a kind, in groups of `size` micro-batches that each pass all chunks.
Op unit(OpKind kind, int k, int size, int v) {
    const int pass = (k / size) % v;
    const int chunk = kind == OpKind::Forward ? pass : v - 1 - pass;
    return {kind, Microbatch{k / (size * v) * size + k % size}, Chunk{chunk}};
}

Result<Schedule> generateInterleavedZb(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    const int rounds = std::max(1, m / p);
    if (m % rounds != 0) {
        return usageError(fmt::format("interleaved-zb needs m to be a multiple of m div p ({}), not {}", rounds, m),
                          fmt::format("use {} micro-batches", m - m % rounds));
    }
    const int size = m / rounds;
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < p; ++s) {
        const std::int64_t warmup = std::int64_t{v - 1} * size + p - s - 1;
        schedule.ranks.push_back(delayedWeightOrder(
            m * v, static_cast<int>(std::min(std::int64_t{m} * v, warmup)), s,
            [=](int k) { return unit(OpKind::Forward, k, size, v); },
            [=](int k) { return unit(OpKind::BackwardInput, k, size, v); }));
    }
    return schedule;
}

} // namespace

ScheduleFamily zbH1Family() {
    return {.name = "zb-h1",
            .title = "ZB-H1 (zero bubble, memory of 1F1B)",
            .flavors = {"handcrafted", "paddle"},
            .placement = Placement::Loop,
            .limits = "v = 1; handcrafted: m ≥ 1; paddle: m ≥ p",
            .generate = generateZbH1};
}

ScheduleFamily zbH2Family() {
    return {.name = "zb-h2",
            .title = "ZB-H2 (zero bubble, twice the memory)",
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1",
            .generate = generateZbH2};
}

ScheduleFamily interleavedZbFamily() {
    return {.name = "interleaved-zb",
            .title = "Interleaved zero-bubble",
            .flavors = {"torch"},
            .placement = Placement::Loop,
            .limits = "m divisible by max(1, m div p)",
            .generate = generateInterleavedZb};
}

} // namespace bubblescope
