// Interleaved 1F1B (virtual pipeline, VPP) as Megatron-LM orders it for m divisible by p: micro-batches
// go through the chunks in groups of p. Rank s runs min(m·v, 2(p−s−1) + (v−1)·p) warm-up forwards, then
// one forward and one backward in turn.
//
// Closed form, with t_f and t_b the times of one chunk. A micro-batch passes through p·v stages; the
// groups of p keep every rank busy once its first op has come, so the step's total is that of 1F1B with
// p ranks and m·v units of work a rank: the bubble is (p−1)(t_f+t_b) in chunk times, smaller than 1F1B's
// by the factor v. The consolidated positions follow from the argument in one_f_one_b.cpp, applied to the
// contiguous steady parts: X(s) = X(s+1) + t_b. As executed, part of the bubble lies inside the steady
// part, where a rank wraps from one chunk to the next.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

Status checkDomain(int p, int m, int v) {
    if (v < 2)
        return usageError(fmt::format("interleaved needs at least 2 chunks a rank, not {}", v),
                          "give --vpp 2, or use 1f1b");
    if (m % p != 0) {
        return usageError(
            fmt::format("interleaved (megatron) needs m divisible by p: {} micro-batches, {} ranks", m, p),
            fmt::format("give {} or {}", std::max(p, m - m % p), m - m % p + p));
    }
    return {};
}

int warmupForwards(int p, int m, int v, int s) {
    return static_cast<int>(std::min<std::int64_t>(std::int64_t{m} * v, 2LL * (p - s - 1) + std::int64_t{v - 1} * p));
}

/// The k-th op of a kind: groups of p micro-batches, each taken through all chunks.
Op unit(OpKind kind, int k, int p, int v) {
    const int pass = (k / p) % v;
    const int chunk = kind == OpKind::Forward ? pass : v - 1 - pass;
    return {kind, Microbatch{k / (p * v) * p + k % p}, Chunk{chunk}};
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int v = spec.vpp;
    BUBBLESCOPE_TRY(checkDomain(p, spec.microbatches, v));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < p; ++s) {
        schedule.ranks.push_back(phaseOrder(
            spec.microbatches * v, warmupForwards(p, spec.microbatches, v, s),
            [&](int k) { return unit(OpKind::Forward, k, p, v); },
            [&](int k) { return unit(OpKind::Backward, k, p, v); }));
    }
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int v = schedule.vpp;
    BUBBLESCOPE_TRY(checkDomain(p, m, v));
    return FormBuilder(schedule, t,
                       "m divisible by p, v ≥ 2, every t_f and t_b (of one chunk); equal stages, transfers free")
        .add(Position::BeforeWarmup, "s·t_f", [&](int s) { return s * t.forward; })
        .addMiddle({"(p−s−1)·t_b", t.backward, "(p−s−1)·t_f", t.forward, "(p−s−1)·(t_f+t_b)"},
                   [&](int s) { return m * v - warmupForwards(p, m, v, s) >= 2; })
        .add(Position::AfterCooldown, "s·t_b", [&](int s) { return s * t.backward; })
        .finish("(p−1)·(t_f+t_b)", "(m·v+p−1)·(t_f+t_b)");
}

} // namespace

ScheduleFamily interleaved1F1BFamily() {
    return {"interleaved",
            "Interleaved 1F1B (VPP)",
            {"vpp", "interleaved-1f1b"},
            {"megatron"},
            Placement::Loop,
            "m divisible by p, v ≥ 2",
            generate,
            familyForm};
}

} // namespace bubblescope
