// Interleaved orders with split backwards.
//
//   sail-sg              Groups of N micro-batches, 1 ≤ N ≤ p, on a clock with three units a turn: in each turn a
//                        rank does one forward, then one input gradient and its weight gradient. Rank s does its
//                        part s units after rank 0, so that forwards travel in one unit a hop and gradients in
//                        two. A micro-batch is back at a rank for its next chunk K·N turns later, K the least
//                        that gives p units of forwards and 2p of gradients their time: ⌈D/N⌉ with D = ⌈p/2⌉, or
//                        more where one of t_f and t_i is longer than the rest. Where that meets another group's
//                        turn, because v and K have a common factor, chunks wait one group more. The smaller N,
//                        the fewer activations; N = p is Megatron's order but for a warm-up shorter by p−1−s.
//   paddle-static-split  what Paddle's static pass does with split_backward: where m = p, and it orders all
//                        forwards first, weight gradients follow after all input gradients, in their order. With
//                        other m it ignores the option.
//
// Closed forms. A rank never waits in the steady turns. Rank 0's last input gradient comes p−1 forwards and as many
// input gradients later than its own work would let it; weight gradients delay nobody, and at the end there is
// one for every rank to do. That is all for paddle-static-split and for sail-sg with N = p. With smaller groups
// the first group's forwards are back (p−N)·t_f late for each further chunk, and the last group's gradients
// p·t_i−N·t_b if that is more than 0. A weight gradient longer than t_f+t_i may delay more.

#include "core/schedule/families/interleaved_split.h"

#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using Turns = std::vector<std::optional<Op>>;

/// Forwards by turn, counted from a rank's first; backwards are the same with the chunks reversed.
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

/// Least number of turns between a micro-batch's chunks.
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
            fmt::format("interleaved (sail-sg) takes groups of up to p = {} micro-batches, not {}", spec.pp, group),
            "change or leave out --group-size");
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
        return usageError("interleaved (paddle-static-split) takes no group size", "leave --group-size out");
    }
    if (spec.microbatches != spec.pp) {
        return usageError(fmt::format("Paddle's static pass splits backwards only with as many micro-batches as "
                                      "ranks, not with {} on {}",
                                      spec.microbatches, spec.pp),
                          fmt::format("give --microbatches {}, or flavor paddle-static", spec.pp));
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

/// N where all forwards of the first rank come in runs of N of one chunk, as they do for D ≤ N and m divisible by
/// N; 0 elsewhere.
int groupOf(const Schedule& schedule) {
    std::vector<int> runs;
    int chunk = -1;
    for (const Op& op : schedule.ranks.front()) {
        if (op.kind != OpKind::Forward) continue;
        if (op.chunk.value != std::exchange(chunk, op.chunk.value)) runs.push_back(0);
        ++runs.back();
    }
    const int n = runs.front();
    return 2 * n >= schedule.pp && std::ranges::count(runs, n) == std::ssize(runs) ? n : 0;
}

Result<ClosedForm> sailSgForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t v = schedule.vpp;
    const std::int64_t n = groupOf(schedule);
    if (n == 0 || n * (t.forward + t.backward) < p * std::max(t.forward, t.input_grad) ||
        t.weight_grad > t.forward + t.input_grad) {
        return usageError("the form of interleaved (sail-sg) holds for m divisible by the group size N ≥ p/2, "
                          "N·(t_f+t_b) ≥ p·max(t_f, t_i) and t_w ≤ t_f+t_i",
                          "use `bubblescope simulate`");
    }
    const TimeNs wrap = (p - n) * t.forward + std::max(TimeNs{0}, p * t.input_grad - n * t.backward);
    const TimeNs bubble = (p - 1) * (t.forward + t.input_grad) + (v - 1) * wrap;
    const std::string expression =
        n == p ? "(p−1)·(t_f+t_i)" : "(p−1)·(t_f+t_i) + (v−1)·((p−N)·t_f + max(0, p·t_i−N·t_b))";
    return makespanForm(schedule, costs, schedule.microbatches * v * (t.forward + t.backward) + bubble, expression,
                        "m·v·(t_f+t_b) + " + expression,
                        "N divides m, N ≥ p/2, N·(t_f+t_b) ≥ p·max(t_f, t_i), t_w ≤ t_f+t_i (of one chunk); equal "
                        "stages, transfers free");
}

} // namespace

bool isSplitInterleaved(std::string_view flavor) {
    return flavor == "sail-sg" || flavor == "paddle-static-split";
}

Result<Schedule> splitInterleaved(const ScheduleSpec& spec) {
    return spec.flavor == "sail-sg" ? sailSg(spec) : paddleStaticSplit(spec);
}

Result<ClosedForm> splitInterleavedForm(const Schedule& schedule, const CostModel& costs) {
    if (schedule.flavor == "sail-sg") return sailSgForm(schedule, costs);
    const OpTimes& t = costs.times;
    const std::int64_t count = std::int64_t{schedule.microbatches} * schedule.vpp;
    const TimeNs bubble = (schedule.pp - 1) * (t.forward + t.input_grad);
    return makespanForm(schedule, costs, count * (t.forward + t.input_grad + t.weight_grad) + bubble, "(p−1)·(t_f+t_i)",
                        "m·v·(t_f+t_i+t_w) + (p−1)·(t_f+t_i)",
                        "m = p, every t_f, t_i and t_w (of one chunk); equal stages, transfers free");
}

} // namespace bubblescope
