// 1F1B and related families: a rank runs some warm-up forwards, then alternating forwards and backwards, then the
// remaining backwards. The families differ in the length of the warm-up and in the unit that is scheduled.
//
// 1F1B (PipeDream-Flush, Narayanan et al., 2019; DAPPLE, Fan et al. 2021): rank s runs min(m, p−s−1) warm-up forwards.
// With encoders before the trunk, p is the length P of the longest path, and s is the rank's number on its own path:
// Megatron-LM (MultiModulePipelineCommunicator) counts the stages up to a rank from the start of its encoder. Ranks of
// the shorter encoder thus run as many warm-up forwards as their neighbours in the longer one.
//
// Eager 1F1B: twice the warm-up of 1F1B, 2(p−s−1) forwards, so that activations are sent before they are needed. This
// needs more memory (2(p−s)−1 activations) and hides transfers of up to (t_f+t_b)/2.
//
// VPP in balanced memory, Paddle's order for p ≤ m < 2p with the option for the best unbalanced schedule: all
// micro-batches form one group, and rank s runs m(v−1) + p−s−1 warm-up forwards, so that only its last chunk runs in
// the steady phase of 1F1B. Interleaved F-then-B takes the same time but holds all m·v activations, compared with
// m(v−1) + p−s on rank s here.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

Result<Schedule> generate1F1B(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved"));
    const Placement placement = encoderPlacement(spec.encoders);
    Schedule schedule = emptySchedule(spec, placement);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s) {
        const int warmup = std::min(spec.microbatches, pathLength(placement, spec.pp) - pathPlace(placement, s) - 1);
        schedule.ranks.push_back(phaseOrder(spec.microbatches, warmup, forward, backward));
    }
    return schedule;
}

Result<Schedule> generateEager1F1B(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "interleaved"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s) {
        schedule.ranks.push_back(
            phaseOrder(spec.microbatches, std::min(spec.microbatches, 2 * (spec.pp - s - 1)), forward, backward));
    }
    return schedule;
}

Result<Schedule> generateVppBalancedMemory(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    if (p < 3 || v < 2 || m < p || m >= 2 * p) {
        return usageError(
            fmt::format("vpp-balanced-memory needs p > 2, v > 1 and p ≤ m < 2p, not p = {}, v = {}, m = {}", p, v, m),
            "use interleaved for more micro-batches");
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [m](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [m, v](int k) { return Op{OpKind::Backward, Microbatch{k % m}, Chunk{v - 1 - k / m}}; };
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(phaseOrder(m * v, m * (v - 1) + p - s - 1, forward, backward));
    return schedule;
}

} // namespace

ScheduleFamily oneFOneBFamily() {
    return {.name = "1f1b",
            .title = "1F1B (PipeDream-Flush, DAPPLE)",
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1",
            .uses = {{SpecPart::Encoders}},
            .generate = generate1F1B};
}

ScheduleFamily eager1F1BFamily() {
    return {.name = "eager-1f1b",
            .title = "Eager 1F1B",
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1",
            .generate = generateEager1F1B};
}

ScheduleFamily vppBalancedMemoryFamily() {
    return {.name = "vpp-balanced-memory",
            .title = "VPP with balanced memory",
            .flavors = {"paddle"},
            .placement = Placement::Loop,
            .limits = "p > 2, v ≥ 2, p ≤ m < 2p",
            .generate = generateVppBalancedMemory};
}

} // namespace bubblescope
