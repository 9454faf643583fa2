// Orders whose units are slices of a micro-batch's sequence. Slices of a micro-batch run forward in order, because
// attention looks back, and their gradients come in reverse, because a slice's gradient sums up the uses of its keys
// and values in later slices. All chunks of a rank take the slices of a group of micro-batches in turn, forward and
// back, and every backward takes the newest slice of the oldest micro-batch. A rank starts its backwards after
//
//     (p−1−s)·d + (v−1)·N·k + k−1
//
// forwards: N micro-batches in the first, largest group, with k slices each; d = 2 if v > 1, so that the return of a
// gradient is also covered, otherwise 1.
//
// Seq1F1B (Sun et al., 2024; thunlp/Seq1F1B): d as above. With several chunks ("Seq1F1B-I"), it has groups of p slices,
// so k must divide p. If m = p, all forwards run first.
//
// SeqPipe, SeqVPP and SeqSmartVPP (MindSpore, seqpipe_scheduler.cc): SeqPipe has m div p groups of p micro-batches, or
// one group if m < p; SeqVPP has groups of p div k micro-batches, about p slices. A remainder is dealt out, one
// micro-batch to each group from the first on. SeqSmartVPP is SeqVPP with d = 1, which holds p−1−s fewer slices.

#include "core/families/families.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bubblescope {
namespace {

/// Groups of `size` micro-batches, with the remainder distributed from the first group on; one group if m is smaller.
std::vector<int> dealtGroups(int size, int m) {
    if (m < size) return {m};
    std::vector<int> groups(static_cast<std::size_t>(m / size), size);
    for (int i = 0; i < m % size; ++i)
        ++groups[static_cast<std::size_t>(i) % groups.size()];
    return groups;
}

/// All forwards in the order of the groups, which is the same on every rank.
std::vector<Op> forwardsOf(const ScheduleSpec& spec, const std::vector<int>& groups) {
    std::vector<Op> ops;
    int first = 0;
    for (const int size : groups) {
        for (int chunk = 0; chunk < spec.vpp; ++chunk) {
            for (int i = 0; i < size; ++i) {
                for (int slice = 0; slice < spec.sequence_slices; ++slice)
                    ops.push_back({OpKind::Forward, Microbatch{first + i}, Chunk{chunk}, slice});
            }
        }
        first += size;
    }
    return ops;
}

/// `distance` is d, the difference of neighbours' warm-ups.
Schedule sliceOrder(const ScheduleSpec& spec, const std::vector<int>& groups, int distance, bool forwards_first) {
    const std::vector<Op> forwards = forwardsOf(spec, groups);
    const auto count = static_cast<int>(forwards.size());
    const auto forward = [&](int k) { return forwards[static_cast<std::size_t>(k)]; };
    const auto backward = [&](int k) {
        const Op op = forward(k);
        return Op{OpKind::Backward, op.microbatch, Chunk{spec.vpp - 1 - op.chunk.value},
                  spec.sequence_slices - 1 - op.sequence};
    };
    const std::int64_t lead =
        std::int64_t{spec.vpp - 1} * groups.front() * spec.sequence_slices + spec.sequence_slices - 1;
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s) {
        const std::int64_t warmup = forwards_first ? count : std::int64_t{spec.pp - 1 - s} * distance + lead;
        schedule.ranks.push_back(
            phaseOrder(count, static_cast<int>(std::min<std::int64_t>(count, warmup)), forward, backward));
    }
    return schedule;
}

Status checkSlices(const ScheduleSpec& spec) {
    const int k = spec.sequence_slices;
    if (k < 1 || k > kMaxSequenceSlices) {
        return usageError(fmt::format("{} is not a valid number of sequence slices", k),
                          fmt::format("use 1 to {}", kMaxSequenceSlices));
    }
    constexpr std::int64_t kMaxUnits = 100'000'000; // upper limit for the ops of a schedule on all ranks
    if (std::int64_t{spec.microbatches} * spec.vpp > kMaxUnits / k / spec.pp)
        return usageError("the schedule would have more than 200 million ops", "use fewer slices");
    return {};
}

Result<Schedule> generateSeq1F1B(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int k = spec.sequence_slices;
    BUBBLESCOPE_TRY(checkSlices(spec));
    if (spec.vpp == 1) return sliceOrder(spec, {m}, 1, false);
    if (m % p != 0) {
        return usageError(
            fmt::format("seq1f1b with several chunks needs m divisible by p: {} micro-batches, {} ranks", m, p),
            fmt::format("use {} or {}, or switch to seqpipe", std::max(p, m - m % p), m - m % p + p));
    }
    if (p % k != 0) {
        return usageError(
            fmt::format(
                "seq1f1b with several chunks needs a number of slices that divides the number of ranks ({}), not {}", p,
                k),
            fmt::format("change {}, or switch to seqpipe", Field("sequence_slices")));
    }
    return sliceOrder(spec, dealtGroups(p / k, m), 2, m == p);
}

Result<Schedule> generateSeqPipe(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(checkSlices(spec));
    return sliceOrder(spec, dealtGroups(spec.pp, spec.microbatches), spec.vpp == 1 ? 1 : 2, false);
}

/// Limits of SeqVPP and SeqSmartVPP.
Status checkSmallGroups(const ScheduleSpec& spec) {
    const int k = spec.sequence_slices;
    BUBBLESCOPE_TRY(checkSlices(spec));
    if (spec.vpp < 2) {
        return usageError(fmt::format("{} needs at least 2 chunks per rank, not {}", spec.name, spec.vpp),
                          fmt::format("use {}, or switch to seqpipe", Field("vpp").is(2)));
    }
    if (k > spec.pp) {
        return usageError(
            fmt::format("{} needs at most as many slices as ranks: {} slices, {} ranks", spec.name, k, spec.pp),
            fmt::format("reduce {}, or switch to seqpipe", Field("sequence_slices")));
    }
    if (spec.microbatches < spec.pp / k) {
        return usageError(fmt::format("{} needs at least one complete group of micro-batches: {} of {}", spec.name,
                                      spec.microbatches, spec.pp / k),
                          fmt::format("use {} or more, or switch to seqpipe", Field("microbatches").is(spec.pp / k)));
    }
    return {};
}

Result<Schedule> generateSeqVpp(const ScheduleSpec& spec) {
    const int k = spec.sequence_slices;
    BUBBLESCOPE_TRY(checkSmallGroups(spec));
    if (spec.pp % k > 1) {
        return usageError(
            fmt::format("seqvpp deadlocks with groups of {} slices on {} ranks", spec.pp / k * k, spec.pp),
            fmt::format("use {} that divides {} or {}, or switch to seqpipe", Field("sequence_slices"), spec.pp,
                        spec.pp - 1));
    }
    return sliceOrder(spec, dealtGroups(spec.pp / k, spec.microbatches), 2, false);
}

Result<Schedule> generateSeqSmartVpp(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(checkSmallGroups(spec));
    if (spec.pp % 2 != 0) {
        return usageError(fmt::format("seqsmartvpp needs an even number of ranks, not {}", spec.pp),
                          fmt::format("change {}, or use seqvpp", Field("pp")));
    }
    return sliceOrder(spec, dealtGroups(spec.pp / spec.sequence_slices, spec.microbatches), 1, false);
}

} // namespace

ScheduleFamily seq1F1BFamily() {
    return {.name = "seq1f1b",
            .title = "Seq1F1B (sequence slices)",
            .aliases = {"seq1f1b-i"},
            .placement = Placement::Loop,
            .limits = "v = 1: m ≥ 1; v ≥ 2: m divisible by p, k divides p",
            .uses = {{SpecPart::SequenceSlices}},
            .generate = generateSeq1F1B};
}

ScheduleFamily seqPipeFamily() {
    return {.name = "seqpipe",
            .title = "SeqPipe (MindSpore)",
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v ≥ 1",
            .uses = {{SpecPart::SequenceSlices}},
            .generate = generateSeqPipe};
}

ScheduleFamily seqVppFamily() {
    return {.name = "seqvpp",
            .title = "SeqVPP (MindSpore)",
            .placement = Placement::Loop,
            .limits = "v ≥ 2, m ≥ p div k, k divides p or p−1",
            .uses = {{SpecPart::SequenceSlices}},
            .generate = generateSeqVpp};
}

ScheduleFamily seqSmartVppFamily() {
    return {.name = "seqsmartvpp",
            .title = "SeqSmartVPP (MindSpore)",
            .placement = Placement::Loop,
            .limits = "p even, v ≥ 2, m ≥ p div k, k ≤ p",
            .uses = {{SpecPart::SequenceSlices}},
            .generate = generateSeqSmartVpp};
}

} // namespace bubblescope
