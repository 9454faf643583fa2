// 1F1B and interleaved 1F1B whose steady phase runs a forward and a backward as one op, so that the communication of
// each (an expert-parallel all-to-all) overlaps with the computation of the other.
//
// The halves of a pair must not depend on each other. In plain 1F1B, the last rank's backward belongs to the forward
// directly before it, so every rank runs at least one more warm-up forward here. Without chunks, a pair of rank s
// delays rank s+1's input by the time of a pair, and the gradient returns with the same delay: each border costs two
// micro-batches, and rank s runs 2(p−s−1)+1 warm-up forwards. With chunks, Megatron's warm-up already grows by 2 per
// rank, and one is added.
//
// Flavor `paddle-mp` is the order of PaddlePaddle's pass that overlaps tensor-parallel communication (studied in
// core/optimize/overlap): plain 1F1B with p−s warm-up forwards, where a backward and the next forward form a pair. The
// halves of its pairs do not depend on each other either, but neighbours run their pairs alternately.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::string_view kPaddleFlavor = "paddle-mp";

/// phaseOrder() with the steady phase's forwards and backwards as pairs.
template <class Forward, class Backward>
std::vector<Op> pairedOrder(int count, std::int64_t warmup, Forward forward, Backward backward) {
    const int singles = static_cast<int>(std::min<std::int64_t>(count, warmup));
    std::vector<Op> ops = phaseOrder(count, singles, forward, backward);
    std::for_each(ops.begin() + singles, ops.end() - singles, [](Op& op) { op.overlapped = true; });
    return ops;
}

Schedule paddleMpOrder(const ScheduleSpec& spec) {
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s) {
        const int warmup = std::min(spec.microbatches, spec.pp - s);
        std::vector<Op>& ops = schedule.ranks.emplace_back();
        const auto add = [&](OpKind kind, int k, bool paired) {
            ops.push_back({kind, Microbatch{k}, Chunk{0}, 0, paired});
        };
        for (int k = 0; k < warmup; ++k)
            add(OpKind::Forward, k, false);
        for (int k = warmup; k < spec.microbatches; ++k) {
            add(OpKind::Backward, k - warmup, true);
            add(OpKind::Forward, k, true);
        }
        for (int k = spec.microbatches - warmup; k < spec.microbatches; ++k)
            add(OpKind::Backward, k, false);
    }
    return schedule;
}

Result<Schedule> generateCombined(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved-overlap"));
    if (spec.flavor == kPaddleFlavor) return paddleMpOrder(spec);
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(pairedOrder(spec.microbatches, 2LL * (spec.pp - s - 1) + 1, forward, backward));
    return schedule;
}

Result<Schedule> generateInterleavedOverlap(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int v = spec.vpp;
    BUBBLESCOPE_TRY(checkInterleavedOverlap(p, spec.microbatches, v));
    if (spec.group_size != 0 && spec.group_size != p) {
        return usageError(
            fmt::format("interleaved-overlap requires groups of p = {} micro-batches, not {}", p, spec.group_size),
            fmt::format("omit {}", Field("group_size")));
    }
    const auto unit = [&](OpKind kind, int k) {
        const int pass = (k / p) % v;
        const int chunk = kind == OpKind::Forward ? pass : v - 1 - pass;
        return Op{kind, Microbatch{k / (p * v) * p + k % p}, Chunk{chunk}};
    };
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < p; ++s) {
        schedule.ranks.push_back(pairedOrder(
            spec.microbatches * v, 2LL * (p - s - 1) + std::int64_t{v - 1} * p + 1,
            [&](int k) { return unit(OpKind::Forward, k); }, [&](int k) { return unit(OpKind::Backward, k); }));
    }
    return schedule;
}

} // namespace

Status checkInterleavedOverlap(int p, int m, int v) {
    if (v < 2) {
        return usageError(fmt::format("interleaved-overlap needs at least 2 chunks per rank, not {}", v),
                          fmt::format("use {}, or switch to 1f1b-overlap", Field("vpp").is(2)));
    }
    if (m % p != 0) {
        return usageError(fmt::format("interleaved-overlap needs m divisible by p: {} micro-batches, {} ranks", m, p),
                          fmt::format("use {} or {}", std::max(p, m - m % p), m - m % p + p));
    }
    return {};
}

ScheduleFamily oneFOneBOverlapFamily() {
    return {.name = "1f1b-overlap",
            .title = "1F1B, forward and backward overlapped",
            .flavors = {"combined", kPaddleFlavor},
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1",
            .generate = generateCombined};
}

ScheduleFamily interleavedOverlapFamily() {
    return {.name = "interleaved-overlap",
            .title = "Interleaved 1F1B, forward and backward overlapped",
            .placement = Placement::Loop,
            .limits = "m divisible by p, v ≥ 2",
            .uses = {{SpecPart::GroupSize}},
            .generate = generateInterleavedOverlap};
}

} // namespace bubblescope
