// Chimera and BitPipe: the model lies on the ranks twice, once from the first rank to the last and once
// from the last to the first, and half of the micro-batches go each way. In Chimera each of the two is a plain
// pipeline of p places, in BitPipe one in V placement of 2p.
//
// Orders. Take a pipeline of S places and a clock that ticks once an op: 1F1B of few micro-batches can run
// F of micro-batch i at place q in slot q + 2i and its B in slot 2S−1−q + 2i. For p/2 micro-batches a
// direction, the second pipeline's slots fall exactly between the first's: on one rank, forwards of one and
// backwards of the other share a parity, but lie apart by p/2 micro-batches. A rank's order is that of the
// slots. More micro-batches follow in blocks of p, each 2S slots after the one before, when the slots that
// the last block's tail leaves free are those that the next block's head needs. Micro-batches are numbered
// through, a block's first half down, its second half up.
//
// Closed form, in times of a chunk. Rank s and its mirror image do the same, so let s be the smaller of the two
// and h = p/2−1−s the ranks between it and the middle. In slots, the idle ones of a rank are what the diamond
// leaves: s before its first op and h in its warm-up, each as long as a forward; h in its cool-down and s behind its
// last op, each as long as a backward. On the outermost ranks of Chimera, which turn around at once, the warm-up's
// lie directly before the first backward and the cool-down's directly behind the last forward.
//
// With t_f ≠ t_b forwards of the one pipeline meet backwards of the other: a rank that runs the shorter kind
// waits |t_b−t_f| for one that runs the longer. On the way in or out of the diamond's middle that happens s times on
// one end of the steady part and h times on the other, which end depending on the kind that is longer. Where two
// blocks meet, backwards of the one alternate with forwards of the next on the outer ranks while the inner ones
// have only one kind: each of the m/p−1 seams costs every rank (p−2)·|t_b−t_f| in its steady part.
//
// Together (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|).
//
// With transfers that take c a block's way down and up costs 2c for each border and pass, p−1 borders and v/2
// passes, and p−3 times c where the two directions meet in the middle; a seam as much on p−2 of the borders in
// Chimera, and 4p−5 times c in BitPipe. At a seam ranks also wait for |t_b−t_f|, which hides the
// last of a transfer: only what c exceeds (p/2−1) of those waits by in Chimera, p−2 in BitPipe, adds to the step.
// These terms were found by comparing and hold for every size, time and c that was compared; where the gaps
// then lie is not known.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/two_way_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

Status checkSizes(std::string_view name, int p, int m) {
    if (p % 2 != 0)
        return usageError(fmt::format("{} needs an even number of ranks, not {}", name, p), "give --pp 2, 4, …");
    if (m % p == 0) return {};
    return usageError(fmt::format("{} needs m divisible by p: {} micro-batches, {} ranks", name, m, p),
                      fmt::format("give {} or {}", std::max(p, m - m % p), m - m % p + p));
}

/// One rank's ops with the slots they take, in slot order.
std::vector<std::pair<std::int64_t, Op>> slotsOf(int p, int m, int chunks, int rank) {
    const int places = p * chunks / 2;
    std::vector<std::pair<std::int64_t, Op>> slots;
    slots.reserve(static_cast<std::size_t>(m) * static_cast<std::size_t>(chunks));
    for (int first = 0; first < m; first += p) {
        const std::int64_t begin = std::int64_t{first / p} * 2 * places;
        for (int chunk = 0; chunk < chunks; ++chunk) {
            const int place = stageOf(Placement::Bidirectional, p, Rank{rank}, Chunk{chunk}).value / 2;
            for (int i = 0; i < p / 2; ++i) {
                const Microbatch microbatch{first + chunk % 2 * (p / 2) + i};
                slots.push_back({begin + place + 2 * i, {OpKind::Forward, microbatch, Chunk{chunk}}});
                slots.push_back({begin + 2 * places - 1 - place + 2 * i, {OpKind::Backward, microbatch, Chunk{chunk}}});
            }
        }
    }
    std::ranges::sort(slots, {}, [](const auto& slot) { return slot.first; });
    return slots;
}

Result<Schedule> generate(const ScheduleSpec& spec, int chunks) {
    if (spec.vpp != 1 && spec.vpp != chunks) { // 1 is what a spec without --vpp says
        return usageError(fmt::format("{} has {} chunks a rank, not {}", spec.name, chunks, spec.vpp),
                          "leave --vpp out");
    }
    BUBBLESCOPE_TRY(checkSizes(spec.name, spec.pp, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::Bidirectional);
    schedule.vpp = chunks;
    for (int rank = 0; rank < spec.pp; ++rank) {
        auto& ops = schedule.ranks.emplace_back();
        for (const auto& [slot, op] : slotsOf(spec.pp, spec.microbatches, chunks, rank))
            ops.push_back(op);
    }
    return schedule;
}

Result<Schedule> generateChimera(const ScheduleSpec& spec) {
    return generate(spec, 2);
}

Result<Schedule> generateBitPipe(const ScheduleSpec& spec) {
    return generate(spec, 4);
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    BUBBLESCOPE_TRY(checkSizes(schedule.name, p, m));
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const bool long_backward = backward > forward;
    const TimeNs apart = long_backward ? backward - forward : forward - backward;
    const std::string gap = long_backward ? "(t_b−t_f)" : "(t_f−t_b)";
    const std::string note = ", d = min(s, p−s−1), h = p/2−1−d";
    FormBuilder form(schedule, costs,
                     fmt::format("p even, m divisible by p, {} (of one chunk); equal stages, transfers free",
                                 long_backward ? "t_b > t_f" : "t_b ≤ t_f"));
    for (int s = 0; s < p; ++s) {
        const int outer = std::min(s, p - 1 - s);
        const int inner = p / 2 - 1 - outer;
        const TimeNs before = (long_backward ? outer : inner) * apart;
        const TimeNs behind = (long_backward ? inner : outer) * apart;
        const std::string before_text = (long_backward ? "d·" : "h·") + gap;
        const std::string behind_text = (long_backward ? "h·" : "d·") + gap;
        std::vector<PositionTerm> terms{
            {Position::BeforeWarmup, "d·t_f" + note, outer * forward},
            {Position::InsideSteady, "(m/p−1)·(p−2)·" + gap, std::int64_t{m / p - 1} * (p - 2) * apart},
            {Position::AfterCooldown, "d·t_b" + note, outer * backward}};
        if (schedule.vpp == 2 && outer == 0) {
            terms.push_back({Position::WarmupToSteady, "h·t_f + " + before_text + note, inner * forward + before});
            terms.push_back({Position::SteadyToCooldown, "h·t_b + " + behind_text + note, inner * backward + behind});
        } else {
            terms.push_back({Position::InsideWarmup, "h·t_f" + note, inner * forward});
            terms.push_back({Position::WarmupToSteady, before_text + note, before});
            terms.push_back({Position::SteadyToCooldown, behind_text + note, behind});
            terms.push_back({Position::InsideCooldown, "h·t_b" + note, inner * backward});
        }
        form.addRank(s, std::move(terms));
    }
    return form.finish("(p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)",
                       "m·v/2·(t_f+t_b) + (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)");
}

Result<ClosedForm> generalForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    BUBBLESCOPE_TRY(checkSizes(schedule.name, schedule.pp, schedule.microbatches));
    const OpTimes& t = costs.times;
    const TimeNs c = costs.comm;
    const TimeNs none{0};
    const bool one_pass = schedule.vpp == 2;
    const TimeNs longer = std::max(t.forward, t.backward);
    const TimeNs apart = longer - std::min(t.forward, t.backward);
    const TimeNs block = (2 * (p - 1) * (schedule.vpp / 2) + std::max<std::int64_t>(0, p - 3)) * c;
    const TimeNs seam = one_pass ? 2 * (p - 2) * c + std::max(none, 2 * c - (p - 2) * apart)
                                 : (4 * p - 5) * c + std::max(none, c - (p - 2) * apart);
    const TimeNs bubble = (p - 2) * longer + block + (m / p - 1) * ((p - 2) * apart + seam);
    const std::string text =
        fmt::format("(p−2)·max(t_f, t_b) + ({}·(p−1)+max(0, p−3))·c + (m/p−1)·((p−2)·|t_b−t_f| + {})", schedule.vpp,
                    one_pass ? "2·(p−2)·c + max(0, 2·c−(p−2)·|t_b−t_f|)" : "(4·p−5)·c + max(0, c−(p−2)·|t_b−t_f|)");
    return makespanForm(schedule, costs, m * schedule.vpp / 2 * (t.forward + t.backward) + bubble, text,
                        "m·v/2·(t_f+t_b) + " + text,
                        "p even, m divisible by p, every t_f, t_b (of one chunk) and c; equal stages");
}

PeakForm peaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int least = (schedule.vpp - 1) * p / 2 + 1;
    return peakForm(schedule, schedule.vpp == 2 ? "p/2 + 1 + min(s, p−s−1)" : "3·p/2 + 1 + min(s, p−s−1)",
                    "m divisible by p", [=](int s) { return least + std::min(s, p - 1 - s); });
}

} // namespace

ScheduleFamily chimeraFamily() {
    return {"chimera",
            "Chimera",
            {},
            {},
            Placement::Bidirectional,
            "p even, m divisible by p, v = 2",
            generateChimera,
            familyForm,
            peaks,
            generalForm,
            chimeraQuotes};
}

ScheduleFamily bitPipeFamily() {
    return {"bitpipe",
            "BitPipe",
            {},
            {},
            Placement::Bidirectional,
            "p even, m divisible by p, v = 4",
            generateBitPipe,
            familyForm,
            peaks,
            generalForm,
            bitPipeQuotes};
}

} // namespace bubblescope
