// Orders that run all forwards before all backwards.
//
// F-then-B, known as GPipe (Huang et al., 2019): all forwards, then all backwards, both in ascending order of
// micro-batches.
//
// Looped breadth-first (Lamy-Poirier 2023): all micro-batches pass chunk 0, then all pass chunk 1, …; backwards run
// from the last chunk to the first. Flavor torch runs the backwards in descending order of micro-batches.
//
// Circular (MaxText, layers/pipeline.py): in iteration i, rank s runs micro-batch (i−s) mod m of its chunk (i−s) div m.
// The program contains only this loop of forwards; automatic differentiation reverses it. The result is looped
// breadth-first with backwards in descending order.
//
// Interleaved F-then-B, which Paddle uses if there are fewer than two groups of p micro-batches: the order of looped
// breadth-first with stricter limits.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

Result<Schedule> generateFThenB(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    const int m = spec.microbatches;
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), phaseOrder(m, m, forward, backward));
    return schedule;
}

Schedule breadthFirst(const ScheduleSpec& spec, bool descending) {
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const int m = spec.microbatches;
    const auto forward = [&](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [&](int k) {
        const int at = k % m;
        return Op{OpKind::Backward, Microbatch{descending ? m - 1 - at : at}, Chunk{spec.vpp - 1 - k / m}};
    };
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), phaseOrder(m * spec.vpp, m * spec.vpp, forward, backward));
    return schedule;
}

Result<Schedule> generateLoopedBfs(const ScheduleSpec& spec) {
    return breadthFirst(spec, spec.flavor == "torch");
}

Result<Schedule> generateCircular(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(checkCircular(spec.pp, spec.microbatches));
    return breadthFirst(spec, true);
}

Result<Schedule> generateInterleavedFThenB(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    if (p < 3 || v < 2 || m < p || m >= 2 * p) {
        return usageError(
            fmt::format("interleaved-fthenb needs p > 2, v > 1 and p ≤ m < 2p, not p = {}, v = {}, m = {}", p, v, m),
            "use interleaved for more micro-batches, looped-bfs for any number");
    }
    return breadthFirst(spec, false);
}

} // namespace

Status checkCircular(int p, int m) {
    if (m % p == 0) return {};
    return usageError(fmt::format("circular needs m divisible by p: {} micro-batches, {} ranks", m, p),
                      fmt::format("use {} or {}, or switch to looped-bfs", std::max(p, m - m % p), m - m % p + p));
}

ScheduleFamily fThenBFamily() {
    return {.name = "fthenb",
            .title = "F-then-B (GPipe)",
            .aliases = {"gpipe"},
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1",
            .generate = generateFThenB};
}

ScheduleFamily loopedBfsFamily() {
    return {.name = "looped-bfs",
            .title = "Looped breadth-first",
            .flavors = {"breadth-first", "torch"},
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v ≥ 1",
            .generate = generateLoopedBfs};
}

ScheduleFamily circularFamily() {
    return {.name = "circular",
            .title = "Circular (MaxText)",
            .aliases = {"maxtext"},
            .placement = Placement::Loop,
            .limits = "m divisible by p, v ≥ 1",
            .generate = generateCircular};
}

ScheduleFamily interleavedFThenBFamily() {
    return {.name = "interleaved-fthenb",
            .title = "Interleaved F-then-B",
            .flavors = {"paddle"},
            .placement = Placement::Loop,
            .limits = "p > 2, v ≥ 2, p ≤ m < 2p",
            .generate = generateInterleavedFThenB};
}

} // namespace bubblescope
