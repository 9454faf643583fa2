// Interleaved zero-bubble, PyTorch's: micro-batches go through the chunks in max(1, m div p) groups of N as in
// interleaved_1f1b.cpp, but rank s runs only (v−1)·N + p−s−1 warm-up forwards, as 1F1B does, because the
// steady part alternates forwards with input gradients; weight gradients follow s behind. With v = 1 this
// is ZB-H1. Derivation of the closed form: delayed_weights.cpp; groups of at least p members keep a rank
// from waiting for its own wrap-around, as there.

#include "core/schedule/families/delayed_weights.h"
#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

/// The k-th op of a kind: groups of `size` micro-batches, each taken through all chunks.
Op unit(OpKind kind, int k, int size, int v) {
    const int pass = (k / size) % v;
    const int chunk = kind == OpKind::Forward ? pass : v - 1 - pass;
    return {kind, Microbatch{k / (size * v) * size + k % size}, Chunk{chunk}};
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    const int rounds = std::max(1, m / p);
    if (m % rounds != 0) {
        return usageError(fmt::format("interleaved-zb needs m to be a multiple of m div p, {}, not {}", rounds, m),
                          fmt::format("give {} micro-batches", m - m % rounds));
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

ScheduleFamily interleavedZbFamily() {
    return {"interleaved-zb", "Interleaved zero-bubble", {},
            {"torch"},        Placement::Loop,           "m divisible by max(1, m div p)",
            generate,         delayedWeightForm,         delayedWeightPeaks,
            delayedWeightForm};
}

} // namespace bubblescope
