// Interleaved 1F1B (virtual pipeline, VPP; Narayanan et al., 2021). Micro-batches pass a rank's chunks in groups: a
// complete group through chunk 0, then through chunk 1, …, then the next group; backwards pass the chunks in reverse,
// in the same groups. Rank s runs min(m·v, 2(p−s−1) + (v−1)·N) warm-up forwards, where N is the group size that the
// warm-up assumes, followed by alternating forwards and backwards.
//
// The flavors differ in the groups and in N:
//   megatron            groups of N (p, or the given group size), remainder last; rejected when 0 < m mod N < p
//   torch               max(1, m div p) groups of equal size N; rejected when m is not a multiple of that
//   paddle-static       groups of p, remainder last, N = p; all forwards first when m = p. Deadlocks for
//                       some remainders, which validate() shows
//   paddle-dynamic      the first group takes the remainder and is N: p + m mod p, then groups of p
//   paddle-dynamic-best-unbalanced   the same, and on the last rank the backward of the last chunk follows
//                       directly on its forward, even if the groups would take another chunk next; all ranks
//                       take their backwards in that order
//   balanced            m div p groups as equal as possible, N the largest
//   merged              the last group takes the remainder and is N
//   unbalanced          groups of p, remainder last, N = p: as paddle-static, without the exception for m = p
//   sail-sg, paddle-static-split   with split backwards, see below
//
// With split backwards:
//   sail-sg              Groups of N micro-batches, 1 ≤ N ≤ p, on a clock with three units per turn: in each turn a
//                        rank does one forward, then one input gradient and its weight gradient. Rank s does its part s
//                        units after rank 0, so that forwards travel in one unit per hop and gradients in two. A
//                        micro-batch returns to a rank for its next chunk K·N turns later, K the least that leaves time
//                        for p units of forwards and 2p of gradients: ⌈D/N⌉ with D = ⌈p/2⌉, or more if one of t_f and
//                        t_i is longer than the rest. If that meets another group's turn, because v and K have a common
//                        factor, chunks wait for one more group. The smaller N, the fewer activations; N = p is
//                        Megatron's order except for a warm-up shorter by p−1−s.
//   paddle-static-split  Paddle's static pass with split_backward: where m = p, and it orders all forwards first,
//                        weight gradients follow after all input gradients, in their order. With other m it
//                        ignores the option.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

struct Grouping {
    std::vector<int> sizes;
    int warmup_size = 0; ///< N
    bool forwards_first = false;
};

/// Groups of `size`, the remainder last.
std::vector<int> groupsOf(int size, int m) {
    std::vector<int> sizes(static_cast<std::size_t>(m / size), size);
    if (m % size != 0) sizes.push_back(m % size);
    return sizes;
}

Status needAtLeast(int least, const ScheduleSpec& spec) {
    if (spec.microbatches >= least) return {};
    return usageError(fmt::format("interleaved ({}) needs at least {} micro-batches with {} ranks, not {}", spec.flavor,
                                  least, spec.pp, spec.microbatches),
                      "use more micro-batches");
}

Result<Grouping> megatronGroups(int p, int m, int group_size) {
    const int n = group_size == 0 ? p : group_size;
    const int rest = m % n;
    if (group_size == 0 && rest != 0) {
        return usageError(
            fmt::format("interleaved (megatron) needs m divisible by p: {} micro-batches, {} ranks", m, p),
            fmt::format("use {} or {}, a group size that leaves no last group smaller than p, or flavor balanced",
                        std::max(p, m - rest), m - rest + n));
    }
    if (n < p || n > m) {
        return usageError(
            fmt::format("interleaved (megatron) needs a group size from p to m ({} to {}), not {}", p, m, n),
            "change the group size or the number of micro-batches");
    }
    if (rest != 0 && rest < p) {
        return usageError(
            fmt::format("interleaved (megatron) would have a last group of {}, smaller than the {} ranks", rest, p),
            fmt::format("use {} micro-batches, another group size, or flavor balanced", m - rest + n));
    }
    return Grouping{groupsOf(n, m), n};
}

Result<Grouping> torchGroups(int p, int m) {
    const int rounds = std::max(1, m / p);
    if (m % rounds != 0) {
        return usageError(
            fmt::format("interleaved (torch) needs m to be a multiple of m div p ({}), not {}", rounds, m),
            fmt::format("use {} micro-batches, or flavor balanced", m - m % rounds));
    }
    return Grouping{groupsOf(m / rounds, m), m / rounds};
}

Grouping balancedGroups(int p, int m) {
    const int groups = m / p;
    Grouping grouping;
    for (int g = 0; g < groups; ++g)
        grouping.sizes.push_back(m / groups + (g < m % groups ? 1 : 0));
    grouping.warmup_size = grouping.sizes.front();
    return grouping;
}

/// Groups of p; the first or the last also takes the remainder.
Grouping mergedGroups(int p, int m, bool first) {
    Grouping grouping{groupsOf(p, m - m % p), p + m % p};
    (first ? grouping.sizes.front() : grouping.sizes.back()) += m % p;
    return grouping;
}

bool isPaddleDynamic(std::string_view flavor) {
    return flavor == "paddle-dynamic" || flavor == "paddle-dynamic-best-unbalanced";
}

Status checkChunks(const ScheduleSpec& spec) {
    if (spec.vpp < 2 && spec.flavor != "torch" && !spec.flavor.starts_with("paddle-static")) {
        return usageError(fmt::format("interleaved needs at least 2 chunks per rank, not {}", spec.vpp),
                          fmt::format("use {}, or switch to 1f1b", Field("vpp").is(2)));
    }
    if (spec.group_size != 0 && spec.flavor != "megatron" && spec.flavor != "sail-sg") {
        return usageError("only interleaved (megatron, sail-sg) has a group size",
                          fmt::format("omit {} or {}", Field("group_size"), Field("flavor")));
    }
    return {};
}

Result<Grouping> groupingOf(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    if (spec.flavor == "megatron") return megatronGroups(p, m, spec.group_size);
    if (spec.flavor == "torch") return torchGroups(p, m);
    if (isPaddleDynamic(spec.flavor)) {
        if (p < 3)
            return usageError("Paddle's dynamic interleaved schedule needs at least 3 ranks",
                              fmt::format("use {} or more", Field("pp").is(3)));
        BUBBLESCOPE_TRY(needAtLeast(2 * p, spec));
        return mergedGroups(p, m, true);
    }
    BUBBLESCOPE_TRY(needAtLeast(p, spec));
    if (spec.flavor == "balanced") return balancedGroups(p, m);
    if (spec.flavor == "merged") return mergedGroups(p, m, false);
    return Grouping{groupsOf(p, m), p, spec.flavor == "paddle-static" && m == p};
}

/// The ops of one kind in the order of the groups, which is the same on every rank.
std::vector<Op> groupOrder(OpKind kind, const std::vector<int>& sizes, int v) {
    std::vector<Op> ops;
    int first = 0;
    for (const int size : sizes) {
        for (int pass = 0; pass < v; ++pass)
            for (int i = 0; i < size; ++i)
                ops.push_back({kind, Microbatch{first + i}, Chunk{kind == OpKind::Forward ? pass : v - 1 - pass}});
        first += size;
    }
    return ops;
}

/// phaseOrder() for equal numbers of `forwards` and `backwards`. Even for a large schedule, this takes no longer than
/// copying the ops.
std::vector<Op> phaseOrderOf(const std::vector<Op>& forwards, const std::vector<Op>& backwards, std::size_t warmup) {
    const std::size_t turns = forwards.size() - warmup;
    std::vector<Op> ops;
    ops.reserve(2 * forwards.size());
    ops.insert(ops.end(), forwards.begin(), forwards.end() - static_cast<std::ptrdiff_t>(turns));
    ops.resize(warmup + 2 * turns);
    const Op* forward = forwards.data() + warmup;
    const Op* backward = backwards.data();
    for (Op* turn = ops.data() + warmup; turn != ops.data() + ops.size(); turn += 2) {
        turn[0] = *forward++;
        turn[1] = *backward++;
    }
    ops.insert(ops.end(), backwards.begin() + static_cast<std::ptrdiff_t>(turns), backwards.end());
    return ops;
}

/// Orders backwards so that the last rank, which has `lead` warm-up forwards, follows each forward of the last chunk
/// with that chunk's next backward. The other backwards keep their order and are placed in between.
std::vector<Op> lastChunkAtOnce(const std::vector<Op>& forwards, const std::vector<Op>& backwards, int v, int lead) {
    const auto of_last = [v](const Op& op) { return op.chunk.value == v - 1; };
    std::vector<Op> last;
    std::vector<Op> others;
    for (const Op& op : backwards)
        (of_last(op) ? last : others).push_back(op);
    std::vector<Op> out;
    for (std::size_t k = 0, l = 0, o = 0; k < backwards.size(); ++k) {
        const std::size_t turn = k + static_cast<std::size_t>(lead);
        out.push_back(turn < forwards.size() && of_last(forwards[turn]) ? last[l++] : others[o++]);
    }
    return out;
}

using Turns = std::vector<std::optional<Op>>;

/// Turns of forwards, counted from a rank's first forward; backwards have the same turns with the chunks in reverse.
Turns turnsOf(int m, int v, int group, int distance) {
    const int chunks_in_step = v / std::gcd(v, distance);
    const auto turnOf = [&](int microbatch, int chunk) {
        return group * (distance * chunk + chunk / chunks_in_step + microbatch / group * v) + microbatch % group;
    };
    Turns turns;
    for (int microbatch = 0; microbatch < m; ++microbatch) {
        for (int chunk = 0; chunk < v; ++chunk) {
            const auto turn = static_cast<std::size_t>(turnOf(microbatch, chunk));
            if (turns.size() <= turn) turns.resize(turn + 1);
            turns[turn] = Op{OpKind::Forward, Microbatch{microbatch}, Chunk{chunk}};
        }
    }
    return turns;
}

/// The minimum number of turns between a micro-batch's chunks.
int leastDistance(const ScheduleSpec& spec) {
    const OpTimes& t = spec.times;
    int least = (spec.pp + 1) / 2;
    while (least < spec.pp && least * (t.forward + t.backward) < spec.pp * std::max(t.forward, t.input_grad))
        ++least;
    return least;
}

Result<Schedule> sailSg(const ScheduleSpec& spec) {
    const int least = leastDistance(spec);
    const int group = spec.group_size == 0 ? least : spec.group_size;
    if (group > spec.pp) {
        return usageError(
            fmt::format("interleaved (sail-sg) supports groups of up to p = {} micro-batches, not {}", spec.pp, group),
            fmt::format("change or omit {}", Field("group_size")));
    }
    const int v = spec.vpp;
    const Turns turns = turnsOf(spec.microbatches, v, group, (least + group - 1) / group);
    const auto last_chunk = std::ranges::find_if(turns, [&](const auto& op) { return op && op->chunk.value == v - 1; });
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s) {
        const std::size_t lead = static_cast<std::size_t>(last_chunk - turns.begin() + spec.pp - 1 - s);
        std::vector<Op>& ops = schedule.ranks.emplace_back();
        for (std::size_t turn = 0; turn < turns.size() + lead; ++turn) {
            if (turn < turns.size() && turns[turn]) ops.push_back(*turns[turn]);
            if (turn < lead || !turns[turn - lead]) continue;
            const Op& forward = *turns[turn - lead];
            const Chunk chunk{v - 1 - forward.chunk.value};
            ops.push_back({OpKind::BackwardInput, forward.microbatch, chunk});
            ops.push_back({OpKind::BackwardWeight, forward.microbatch, chunk});
        }
    }
    return schedule;
}

Result<Schedule> paddleStaticSplit(const ScheduleSpec& spec) {
    if (spec.group_size != 0) {
        return usageError("interleaved (paddle-static-split) has no group size",
                          fmt::format("omit {}", Field("group_size")));
    }
    if (spec.microbatches != spec.pp) {
        return usageError(fmt::format("Paddle's static pass splits backwards only if there are as many micro-batches "
                                      "as ranks, not {} micro-batches on {} ranks",
                                      spec.microbatches, spec.pp),
                          fmt::format("use {}, or flavor paddle-static", Field("microbatches").is(spec.pp)));
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    std::vector<Op> ops;
    for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
        for (int pass = 0; pass < spec.vpp; ++pass) {
            const Chunk chunk{kind == OpKind::Forward ? pass : spec.vpp - 1 - pass};
            for (int microbatch = 0; microbatch < spec.microbatches; ++microbatch)
                ops.push_back({kind, Microbatch{microbatch}, chunk});
        }
    }
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), ops);
    return schedule;
}

Result<Schedule> generateInterleaved1F1B(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(checkChunks(spec));
    if (isSplitInterleaved(spec.flavor)) return spec.flavor == "sail-sg" ? sailSg(spec) : paddleStaticSplit(spec);
    BUBBLESCOPE_ASSIGN(const Grouping grouping, groupingOf(spec));
    const int v = spec.vpp;
    const int count = spec.microbatches * v;
    const std::int64_t lead = std::int64_t{v - 1} * grouping.warmup_size;
    const auto forwards = groupOrder(OpKind::Forward, grouping.sizes, v);
    auto backwards = groupOrder(OpKind::Backward, grouping.sizes, v);
    if (spec.flavor == "paddle-dynamic-best-unbalanced")
        backwards = lastChunkAtOnce(forwards, backwards, v, static_cast<int>(lead));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s) {
        const std::int64_t warmup = grouping.forwards_first ? count : 2LL * (spec.pp - s - 1) + lead;
        schedule.ranks.push_back(
            phaseOrderOf(forwards, backwards, static_cast<std::size_t>(std::min<std::int64_t>(count, warmup))));
    }
    return schedule;
}

} // namespace

bool isSplitInterleaved(std::string_view flavor) {
    return flavor == "sail-sg" || flavor == "paddle-static-split";
}

ScheduleFamily interleaved1F1BFamily() {
    return {
        .name = "interleaved",
        .title = "Interleaved 1F1B (VPP)",
        .aliases = {"vpp", "interleaved-1f1b"},
        .flavors = {"megatron", "torch", "paddle-static", "paddle-dynamic", "paddle-dynamic-best-unbalanced",
                    "balanced", "merged", "unbalanced", "sail-sg", "paddle-static-split"},
        .placement = Placement::Loop,
        .limits =
            "v ≥ 2; megatron: m divisible by p, or a group size that leaves no group below p; torch: m divisible by "
            "m div p; paddle-dynamic: p > 2, m ≥ 2p; sail-sg: any m, group size up to p; paddle-static-split: "
            "m = p; others: m ≥ p",
        .uses = {{SpecPart::GroupSize, {"megatron", "sail-sg"}}},
        .generate = generateInterleaved1F1B};
}

} // namespace bubblescope
