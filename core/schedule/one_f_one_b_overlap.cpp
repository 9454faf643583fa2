// 1F1B and interleaved 1F1B whose steady part runs one forward and one backward as a single op, so that
// the communication inside each (an expert-parallel all-to-all) hides behind the computation of the other.
//
// The halves of a pair must not depend on each other. In plain 1F1B the last rank's backward is that of the
// forward just before it, so every rank runs at least one more warm-up forward here. Without chunks a pair of
// rank s holds back rank s+1's input for as long as a pair takes, and the gradient comes back just as
// late: each border costs two micro-batches, and rank s warms up with 2(p−s−1)+1. With chunks Megatron's
// warm-up already grows by 2 a rank, and one is added to it.
//
// Closed form, with t_fb the time of a pair. The last rank has the smallest warm-up, n = p(v−1)+1 forwards,
// hence as many backwards alone and m·v−n pairs. Its first forward comes (p−1)·t_f after the start, and
// (p−1)·t_b of backwards follow its last op on the ranks above it. In between it never waits: what it needs
// next is always two micro-batches or a whole group behind. The step takes
// (p−1)(t_f+t_b) + n(t_f+t_b) + (m·v−n)·t_fb. Ranks above it run fewer pairs, so they are busier, as long as
// a pair takes no longer than its halves, and idle less. A pair shorter than its longer half, which no hardware
// gives, would leave the last rank waiting.
//
// Flavor `paddle-mp` is the order of PaddlePaddle's pass that overlaps tensor-parallel communication (which
// core/overlap looks into): plain 1F1B with p−s warm-up forwards, whose backward and next forward become the
// pair. Its halves do not depend on each other either, but neighbours now run their pairs in turn. Rank s's
// i-th pair needs the gradient of rank s+1's i-th, and rank s+1's next pair needs the activation that comes out
// of rank s's. So the last rank, which starts its first pair after p·t_f, starts one every 2·t_fb; the m−1
// pairs take (2m−3)·t_fb, and p backwards follow the last one: p(t_f+t_b) + (2m−3)·t_fb. A lone rank waits for
// nobody, and its pairs follow each other.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

constexpr std::string_view kCombinedName = "1f1b-overlap";
constexpr std::string_view kPaddleFlavor = "paddle-mp";

/// phaseOrder() whose forwards and backwards in turn are pairs.
template <class Forward, class Backward>
std::vector<Op> pairedOrder(int count, std::int64_t warmup, Forward forward, Backward backward) {
    const int singles = static_cast<int>(std::min<std::int64_t>(count, warmup));
    std::vector<Op> ops = phaseOrder(count, singles, forward, backward);
    std::for_each(ops.begin() + singles, ops.end() - singles, [](Op& op) { op.overlapped = true; });
    return ops;
}

Schedule paddleOrder(const ScheduleSpec& spec) {
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
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved-overlap"));
    if (spec.flavor == kPaddleFlavor) return paddleOrder(spec);
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(pairedOrder(spec.microbatches, 2LL * (spec.pp - s - 1) + 1, forward, backward));
    return schedule;
}

Status checkInterleaved(int p, int m, int v) {
    if (v < 2) {
        return usageError(fmt::format("interleaved-overlap needs at least 2 chunks a rank, not {}", v),
                          "give --vpp 2, or use 1f1b-overlap");
    }
    if (m % p != 0) {
        return usageError(fmt::format("interleaved-overlap needs m divisible by p: {} micro-batches, {} ranks", m, p),
                          fmt::format("give {} or {}", std::max(p, m - m % p), m - m % p + p));
    }
    return {};
}

Result<Schedule> generateInterleaved(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int v = spec.vpp;
    BUBBLESCOPE_TRY(checkInterleaved(p, spec.microbatches, v));
    if (spec.group_size != 0 && spec.group_size != p) {
        return usageError(
            fmt::format("interleaved-overlap takes groups of p = {} micro-batches, not {}", p, spec.group_size),
            "leave --group-size out");
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

ClosedForm paddleForm(const Schedule& schedule, const CostModel& costs, TimeNs pair) {
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t turns = p == 1 ? m - 1 : std::max<std::int64_t>(0, 2 * m - 3);
    const TimeNs makespan = p * (costs.times.forward + costs.times.backward) + turns * pair;
    return makespanForm(schedule, costs, makespan, "what the ops leave of the makespan",
                        p == 1 ? "t_f+t_b + (m−1)·t_fb" : "p·(t_f+t_b) + (2m−3)·t_fb for m ≥ 2",
                        "every m, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b; a pair hands on its results at its end; equal "
                        "stages, transfers free");
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t v = schedule.vpp;
    if (v > 1) BUBBLESCOPE_TRY(checkInterleaved(schedule.pp, schedule.microbatches, schedule.vpp));
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const TimeNs both = forward + backward;
    const TimeNs pair = costs.overlapped.value_or(both);
    if (pair < std::max(forward, backward) || pair > both) {
        return usageError("the form holds for pairs that take at least their longer half and at most both halves",
                          "give such a time, or use `bubblescope simulate`");
    }
    if (schedule.flavor == kPaddleFlavor) return paddleForm(schedule, costs, pair);
    const std::int64_t singles = p * (v - 1) + 1;
    const TimeNs makespan = (p - 1 + singles) * both + (m * v - singles) * pair;
    return makespanForm(schedule, costs, makespan, "(p−1)·(t_f+t_b) on the last rank, less on the others",
                        "(p−1+n)·(t_f+t_b) + (m·v−n)·t_fb, n = p·(v−1)+1",
                        fmt::format("{}, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (of one chunk); equal stages, transfers free",
                                    v == 1 ? "every m" : "m divisible by p, v ≥ 2"));
}

} // namespace

ScheduleFamily oneFOneBOverlapFamily() {
    return {kCombinedName,
            "1F1B, forward and backward overlapped",
            {},
            {"combined", kPaddleFlavor},
            Placement::Loop,
            "m ≥ 1, v = 1",
            generateCombined,
            familyForm};
}

ScheduleFamily interleavedOverlapFamily() {
    return {"interleaved-overlap",
            "Interleaved 1F1B, forward and backward overlapped",
            {},
            {},
            Placement::Loop,
            "m divisible by p, v ≥ 2",
            generateInterleaved,
            familyForm};
}

} // namespace bubblescope
