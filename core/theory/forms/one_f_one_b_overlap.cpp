// Closed forms of 1F1B and interleaved 1F1B with overlapped pairs of a forward and a backward.
//
// Let t_fb be the time of a pair and c a transfer's latency. The last rank has the smallest warm-up, n = p(v−1)+1
// forwards, hence as many backwards that run alone, and m·v−n pairs. Its first forward arrives (p−1)(t_f+c) after the
// start, and (p−1)(t_b+c) of backwards follow its last op on the ranks above it. In between, with c = 0, it never
// waits: its next input is always two micro-batches or a whole group ahead. The step takes
// (p−1)(t_f+t_b) + n(t_f+t_b) + (m·v−n)·t_fb. Ranks above it run fewer pairs. As long as a pair takes no longer than
// its two halves, they are busier and idle less. A pair shorter than its longer half, which no hardware provides, would
// make the last rank wait.
//
// Positions. Rank s starts s·(t_f+c) late and ends s·(t_b+c) early. Its first gradient has passed the first pairs of
// the p−s−1 ranks below, while the rank ran a forward for each of them: (p−s−1)(t_fb−t_f+2·c) before the steady part,
// where a border adds c each way. In cool-down the rank needs t_b per turn, and the rank below, still in pairs,
// delivers a gradient every t_fb: (p−s−1)(t_fb−t_b+2·c). A rank whose forwards end before its first pair would begin
// has no steady part, and its two middle bubbles are one.
//
// Latency in the steady part. Pair j of rank s and pair j+2 of rank s+1 exchange a micro-batch, and pair j+2 of rank s
// waits for the answer. Two pairs therefore take 2·c more. Every second one of the last rank's m·v−n pairs waits 2·c;
// rank s spends 2(p−s−1)·c of that before and after its steady part. With chunks a micro-batch also passes all p
// borders between two chunks, so that every pair but the first waits c; and warm-up and cool-down pass the p borders
// once more for each chunk but one.
//
// Flavor paddle-mp, the order of PaddlePaddle's pass that overlaps tensor-parallel communication. Neighbours run their
// pairs in turn: rank s's i-th pair needs the gradient of rank s+1's i-th, and rank s+1's next pair needs the
// activation that rank s's pair produces. So the last rank, which starts its first pair after p·t_f, starts one every
// 2·t_fb; the m−1 pairs take (2m−3)·t_fb, and p backwards follow the last one: p(t_f+t_b) + (2m−3)·t_fb. A single rank
// waits for nothing, and its pairs follow each other directly. Every rank waits t_fb+2·c, for its neighbour's pair and
// the transfers there and back, before each of its pairs, except that the last rank does not wait before its first;
// rank s waits p−s−1 times as long before its first pair and p−s−2 times in cool-down.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Abbreviations for sizes and times. n forwards run alone on the last rank, its other forwards in pairs.
struct OverlapCase {
    OverlapCase(const Schedule& schedule, const CostModel& costs)
        : p(schedule.pp), m(schedule.microbatches), v(schedule.vpp), n(p * (v - 1) + 1), pairs(m * v - n),
          forward(costs.times.forward), backward(costs.times.backward), both(forward + backward),
          pair(costs.overlapped.value_or(both)), c(p > 1 ? costs.comm : TimeNs{0}) {}

    [[nodiscard]] bool slow() const { return c.count() > 0; }
    [[nodiscard]] bool oneGroup() const { return v == 1 || m == p; }
    /// The number of times that the last rank waits for c between its pairs.
    [[nodiscard]] std::int64_t late() const {
        return std::max<std::int64_t>(0, oneGroup() ? (pairs - 1) / 2 * 2 : pairs - 1);
    }
    /// The passes of all borders from chunk to chunk, in warm-up and again in cool-down.
    [[nodiscard]] TimeNs turns() const { return (v - 1) * p * c; }
    [[nodiscard]] TimeNs makespan() const {
        return (p - 1) * (both + 2 * c) + n * both + pairs * pair + late() * c + 2 * turns();
    }
    [[nodiscard]] std::string domain() const {
        return fmt::format("{}, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (per chunk){}; equal stages{}",
                           v == 1 ? "any m" : "m divisible by p, v ≥ 2", slow() ? ", any c" : "",
                           slow() ? "" : ", transfers free");
    }
    [[nodiscard]] std::string transfers() const {
        if (!slow()) return "";
        return fmt::format(" + (2·(p−1) + 2·p·(v−1) + {})·c", oneGroup() ? "2·⌊(m·v−n−1)/2⌋" : "m·v−n−1");
    }
    [[nodiscard]] std::string bubbleText() const {
        return fmt::format("(p−1)·(t_f+t_b){} on the last rank, less on the others{}", transfers(),
                           slow() ? ", n = p·(v−1)+1" : "");
    }
    [[nodiscard]] std::string makespanText() const {
        return fmt::format("(p−1+n)·(t_f+t_b) + (m·v−n)·t_fb{}, n = p·(v−1)+1", transfers());
    }

    std::int64_t p;
    std::int64_t m;
    std::int64_t v;
    std::int64_t n;
    std::int64_t pairs;
    TimeNs forward;
    TimeNs backward;
    TimeNs both;
    TimeNs pair;
    TimeNs c;
};

std::vector<PositionTerm> overlapTerms(const OverlapCase& x, int s) {
    const std::int64_t below = x.p - s - 1;
    const TimeNs start = s * (x.forward + x.c);
    const TimeNs end = s * (x.backward + x.c);
    const std::string border = x.slow() ? "+2·c" : "";
    std::vector<PositionTerm> terms{{Position::BeforeWarmup, x.slow() ? "s·(t_f+c)" : "s·t_f", start},
                                    {Position::AfterCooldown, x.slow() ? "s·(t_b+c)" : "s·t_b", end}};
    if (x.pairs <= 2 * below) { // no steady part
        terms.push_back({Position::ForwardToBackward, "T − (m·v+s)·(t_f+t_b), T the makespan",
                         x.makespan() - x.m * x.v * x.both - start - end});
        return terms;
    }
    terms.push_back({Position::WarmupToSteady, fmt::format("(p−s−1)·(t_fb−t_f{})", border),
                     below * (x.pair - x.forward + 2 * x.c)});
    terms.push_back({Position::SteadyToCooldown, fmt::format("(p−s−1)·(t_fb−t_b{})", border),
                     below * (x.pair - x.backward + 2 * x.c)});
    if (!x.slow()) return terms;
    terms.push_back({Position::InsideSteady,
                     fmt::format("({} − 2·(p−s−1))·c", x.oneGroup() ? "2·⌊(m·v−n−1)/2⌋" : "m·v−n−1"),
                     (x.late() - 2 * below) * x.c});
    if (x.v > 1) {
        terms.push_back({Position::InsideWarmup, "(v−1)·p·c", x.turns()});
        terms.push_back({Position::InsideCooldown, "(v−1)·p·c", x.turns()});
    }
    return terms;
}

ClosedForm combinedForm(const Schedule& schedule, const CostModel& costs, const OverlapCase& x) {
    // With slow transfers the positions of ranks with fewer than two pairs are not known.
    if (x.slow() && x.pairs - 2 * (x.p - 1) < 2)
        return makespanForm(schedule, costs, x.makespan(), x.bubbleText(), x.makespanText(), x.domain());
    FormBuilder form(schedule, costs, x.domain());
    for (int s = 0; s < schedule.pp; ++s)
        form.addRank(s, overlapTerms(x, s));
    return form.finish(x.bubbleText(), x.makespanText());
}

ClosedForm paddleMpForm(const Schedule& schedule, const CostModel& costs, const OverlapCase& x) {
    const TimeNs hop = x.pair + 2 * x.c; // a neighbour's pair, there and back
    const std::int64_t turns = std::max<std::int64_t>(0, x.m - 2);
    const TimeNs pairs = x.p == 1 || x.m == 1 ? (x.m - 1) * x.pair : x.pair + turns * (x.pair + hop);
    const TimeNs makespan = x.p * x.both + 2 * (x.p - 1) * x.c + pairs;
    const std::string turn = x.slow() ? "(t_fb+2·c)" : "t_fb";
    FormBuilder form(
        schedule, costs,
        fmt::format("any m, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b{}; a pair sends its results at its end; equal stages{}",
                    x.slow() ? ", any c" : "", x.slow() ? "" : ", transfers free"));
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = x.p - s - 1;
        const std::int64_t drain = std::max<std::int64_t>(0, below - 1);
        const TimeNs start = s * (x.forward + x.c);
        const TimeNs end = s * (x.backward + x.c);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, x.slow() ? "s·(t_f+c)" : "s·t_f", start},
                                        {Position::AfterCooldown, x.slow() ? "s·(t_b+c)" : "s·t_b", end}};
        if (x.m <= x.p - s && below > 0) { // no pairs
            terms.push_back({Position::ForwardToBackward, "T − m·(t_f+t_b) − the bubbles outside, T the makespan",
                             makespan - x.m * x.both - start - end});
        } else if (below > 0 || x.p > 1) {
            terms.push_back({Position::WarmupToSteady, "(p−s−1)·" + turn, below * hop});
            terms.push_back({Position::InsideSteady, "max(0, m−2−max(0, p−s−2))·" + turn,
                             std::max<std::int64_t>(0, turns - drain) * hop});
            terms.push_back({Position::SteadyToCooldown, "max(0, p−s−2)·" + turn, drain * hop});
        }
        form.addRank(s, std::move(terms));
    }
    const std::string text = x.p == 1   ? "t_f+t_b + (m−1)·t_fb"
                             : x.slow() ? "p·(t_f+t_b) + (2·m−3)·t_fb + 2·(p+m−3)·c for m ≥ 2"
                                        : "p·(t_f+t_b) + (2·m−3)·t_fb for m ≥ 2";
    return form.finish("makespan minus ops", text);
}

bool isPaddleMp(const Schedule& schedule) {
    return schedule.flavor == "paddle-mp";
}

Result<ClosedForm> overlapForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    if (schedule.vpp > 1) BUBBLESCOPE_TRY(checkInterleavedOverlap(schedule.pp, schedule.microbatches, schedule.vpp));
    const OverlapCase x(schedule, costs);
    if (x.pair < std::max(x.forward, x.backward) || x.pair > x.both) {
        return usageError(
            "the closed form holds only for pairs that take at least as long as their longer half and at most "
            "as long as both halves",
            "use a time within these limits, or use `bubblescope simulate`");
    }
    return isPaddleMp(schedule) ? paddleMpForm(schedule, costs, x) : combinedForm(schedule, costs, x);
}

PeakForm overlapPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    if (isPaddleMp(schedule)) {
        return peakForm(schedule, "min(m, p−s)", "any m",
                        [=, m = schedule.microbatches](int s) { return std::min(m, p - s); });
    }
    const int units = schedule.microbatches * schedule.vpp;
    const int chunks = (schedule.vpp - 1) * p;
    return peakForm(schedule, schedule.vpp == 1 ? "min(m, 2·(p−s))" : "min(m·v, 2·(p−s) + (v−1)·p)", "any m",
                    [=](int s) { return std::min(units, 2 * (p - s) + chunks); });
}

} // namespace

FamilyTheory oneFOneBOverlapTheory() {
    return {
        .family = "1f1b-overlap", .closed_form = overlapForm, .peak_form = overlapPeaks, .general_form = overlapForm};
}

FamilyTheory interleavedOverlapTheory() {
    return {.family = "interleaved-overlap",
            .closed_form = overlapForm,
            .peak_form = overlapPeaks,
            .general_form = overlapForm};
}

} // namespace bubblescope
