// Closed forms of interleaved 1F1B (Narayanan et al., 2021), with t_f and t_b the times of one chunk.
//
// A chunk's output returns to the rank, for its next chunk, p ops of its kind later. While every group has at least p
// members, the rank is busy with the rest of the group for that long, so it never waits for its own wrap-around. The
// step is that of 1F1B with m·v units of work per rank, and the bubble (p−1)(t_f+t_b) in chunk times is smaller than
// that of 1F1B by the factor v. (N must be the largest group: with less warm-up the larger groups deadlock.) The
// consolidated positions follow from the argument in one_f_one_b.cpp, applied to the contiguous steady parts: X(s) =
// X(s+1) + t_b. As executed, part of the bubble lies inside the steady part, where a rank wraps from one chunk to the
// next. Groups that differ by more than one, or that differ at all where v > 2, do not always leave room to make the
// steady parts contiguous; the totals and the outer positions hold nevertheless.
//
// Latency, and a single group smaller than p. With equal groups of N each wrap waits for the part of the loop that N
// micro-batches are too few to hide (latency.h), as in looped breadth-first; in the steady part the wraps of forwards
// and those of backwards are separate. Every hop inside a group has one op of the other direction to hide behind, so
// the form holds while c is no longer than the shorter op. With longer transfers every turn also waits, and no form is
// known. For N = p the sum is (p−1)(t_f+t_b) + 2·c·(v·p−1).
//
// Several groups, one of them smaller than p, make every rank wait at each of its wrap-arounds, by an amount that
// depends on the neighbouring groups. No form is known; orderBound() gives a lower bound.
//
// Split backwards (flavors sail-sg and paddle-static-split). A rank never waits in the steady turns. Rank 0's last
// input gradient comes p−1 forwards and as many input gradients later than its own work would allow. Weight gradients
// delay no other rank, and at the end every rank has one left to run. That is all for paddle-static-split and for
// sail-sg with N = p. With smaller groups the first group's forwards return (p−N)·t_f late for each further chunk, and
// the last group's gradients p·t_i−N·t_b late if that is positive. A weight gradient longer than t_f+t_i may delay
// more.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"
#include "core/timeline/bubbles.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// The groups of an order: the numbers of forwards of chunk 0 that follow each other.
struct Groups {
    std::vector<int> sizes;
    bool equal = true;
    bool within_one = true; ///< no two differ by more than one
    bool wide = true;       ///< all of p or more

    explicit Groups(const Schedule& schedule) {
        bool open = false;
        for (const Op& op : schedule.ranks.front()) {
            if (op.kind != OpKind::Forward) continue;
            if (op.chunk.value == 0 && open) ++sizes.back();
            if (op.chunk.value == 0 && !open) sizes.push_back(1);
            open = op.chunk.value == 0;
        }
        if (schedule.vpp == 1) sizes = {schedule.microbatches};
        equal = std::ranges::all_of(sizes, [&](int size) { return size == sizes.front(); });
        const auto [least, most] = std::ranges::minmax(sizes);
        within_one = most - least <= 1;
        wide = schedule.vpp == 1 || std::ranges::all_of(sizes, [&](int size) { return size >= schedule.pp; });
    }
};

bool forwardsFirst(const Schedule& schedule) {
    return !findPhases(schedule.ranks.back()).hasSteady();
}

/// Equal groups, transfers with latency or a single small group: total and outer positions.
ClosedForm wrappingForm(const Schedule& schedule, const CostModel& costs, int group, std::string domain) {
    const OpTimes& t = costs.times;
    const TimeNs bubble = (schedule.pp - 1) * (t.forward + t.backward + 2 * costs.comm) +
                          wrapLoss(schedule.pp, schedule.vpp, group, costs).both();
    std::string expression = "(p−1)·(t_f+t_b+2·c) + (v−1)·(max(0, p·(t_f+c)−N·t_f) + max(0, p·(t_b+c)−N·t_b))";
    if (group == schedule.pp) expression = "(p−1)·(t_f+t_b) + 2·c·(v·p−1)";
    if (freeTransfers(costs)) expression = "(p−1 + (v−1)·(p−m))·(t_f+t_b)";
    return FormBuilder(schedule, costs, std::move(domain))
        .addEnds()
        .withTotal(bubble)
        .finish(expression, "m·v·(t_f+t_b) + " + expression);
}

Result<ClosedForm> wholeForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const Groups groups(schedule);
    if (std::accumulate(groups.sizes.begin(), groups.sizes.end(), 0) != schedule.microbatches)
        return usageError("the order does not run its micro-batches through the chunks in groups");
    if (forwardsFirst(schedule)) {
        return breadthFirstForm(schedule, costs,
                                "one group of m, all forwards first, any t_f, t_b and c (per chunk); equal stages");
    }
    if (!groups.wide && groups.sizes.size() > 1)
        return usageError("no known closed form for interleaved orders with a group smaller than the number of ranks");
    if (costs.comm.count() > 0 || !groups.wide) {
        if (!groups.equal)
            return usageError("with latency, interleaved has a closed form only if all groups are equal");
        if (costs.comm > std::min(costs.times.forward, costs.times.backward))
            return usageError("with latency, interleaved has a closed form only if c is at most t_f and t_b");
        const std::string whose = groups.wide ? "equal groups of N ≥ p" : "one group of m < p";
        const std::string times = ", any t_f and t_b (per chunk)";
        return wrappingForm(
            schedule, costs, groups.sizes.front(),
            whose + times +
                (costs.comm.count() > 0 ? ", c ≤ min(t_f, t_b); equal stages" : "; equal stages, transfers free"));
    }
    FormBuilder form(schedule, costs,
                     "every group has at least p micro-batches, any t_f and t_b (per chunk); equal stages, "
                     "transfers free");
    if (groups.equal || (groups.within_one && schedule.vpp == 2)) {
        form.addFillAndDrain();
    } else {
        form.addEnds().withTotal((p - 1) * (costs.times.forward + costs.times.backward));
    }
    return form.finish("(p−1)·(t_f+t_b)", "(m·v+p−1)·(t_f+t_b)");
}

PeakForm wholePeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int v = schedule.vpp;
    const int all = schedule.microbatches * v;
    if (forwardsFirst(schedule)) return peakForm(schedule, "m·v", "all forwards first", [&](int) { return all; });
    const int largest = std::ranges::max(Groups(schedule).sizes);
    return peakForm(schedule, "min(m·v, 2·(p−s−1) + (v−1)·N + 1)", "any p, m and v, N the largest group",
                    [&](int s) { return std::min(all, 2 * (p - s - 1) + (v - 1) * largest + 1); });
}

/// The split of the middle bubble in Zheng 2024, for two or more groups of p.
void addSplitQuotes(std::vector<QuotedForm>& list, const Schedule& schedule, const OpTimes& t) {
    const int p = schedule.pp;
    const auto [shorter, longer] = std::minmax(t.forward, t.backward);
    const bool feasible = longer <= 2 * shorter && (p - 2) * longer <= (p - 1) * shorter;
    const std::string verdict =
        "This placement exists only if max(t_f, t_b)/min(t_f, t_b) is at most 2 and at most (p−1)/(p−2). The split of "
        "1F1B, (p−s−1)·t_b before the steady part and (p−s−1)·t_f after it, is always possible.";
    list.push_back(positionQuote(
        schedule, {"inner split of VPP, before the steady part", "Zheng 2024", "(p−s−1)·t_f", verdict},
        Position::WarmupToSteady, [&](int s) { return (p - s - 1) * t.forward; }, feasible));
    list.push_back(positionQuote(
        schedule, {"inner split of VPP, after the steady part", "Zheng 2024", "(p−s−1)·t_b", verdict},
        Position::SteadyToCooldown, [&](int s) { return (p - s - 1) * t.backward; }, feasible));
}

/// The numbers of Zheng 2024 for two sizes of p = 4, v = 2.
void addZhengNumbers(std::vector<QuotedForm>& list, const Schedule& schedule, const OpTimes& t, const Groups& groups) {
    const TimeNs both = t.forward + t.backward;
    if (groups.sizes == std::vector{4, 1} && t.forward == t.backward) {
        list.push_back(bubbleQuote(schedule,
                                   {"11 bubbles", "Zheng 2024", "11·t_f",
                                    "It is a rank's idle time, in ops, for groups of p, with the remainder last, at p "
                                    "= 4, m = 5, v = 2, t_f = t_b. One group of all 5 has 6."},
                                   11 * t.forward, true));
    }
    if (schedule.microbatches != 9) return;
    // Groups of 4, 4 and 1: the last one waits 5·t_b + t_f more than the (p−1)·(t_f+t_b) of wide groups.
    const bool last_small = groups.sizes.back() == 1 && t.backward >= t.forward;
    const auto idle = static_cast<double>((3 * both + 5 * t.backward + t.forward).count());
    const double rate = idle / (idle + static_cast<double>((18 * both).count()));
    list.push_back(ratioQuote(Quantity::BubbleRate,
                              {"26 %, unbalanced VPP", "Zheng 2024", "26 %",
                               "It is the rate for groups of p, with the remainder last, at p = 4, m = 9, v = 2 and "
                               "t_f:t_b of about 2:3. That order idles 25.0 % at 1:1 and 27.0 % at 1:2."},
                              0.26, last_small && rate >= 0.255 && rate < 0.265));
    list.push_back(ratioQuote(Quantity::BubbleRate,
                              {"14 %, unbalanced VPP improved", "Zheng 2024", "14 %",
                               "It is (p−1)/(m·v+p−1) = 1/7, the rate for groups of at least p at any t_f:t_b. An "
                               "order with the remainder as a separate group does not reach it."},
                              0.14, groups.wide));
}

std::vector<QuotedForm> wholeQuotes(const Schedule& schedule, const CostModel& costs) {
    const std::int64_t p = schedule.pp;
    const std::int64_t v = schedule.vpp;
    const TimeNs both = costs.times.forward + costs.times.backward;
    const Groups groups(schedule);
    const bool free = freeTransfers(costs);
    const bool groups_of_p = groups.equal && groups.sizes.front() == p && v > 1;
    std::vector<QuotedForm> list;
    if (free && groups_of_p && groups.sizes.size() > 1 && p > 1) addSplitQuotes(list, schedule, costs.times);
    if (free && p == 4 && v == 2) addZhengNumbers(list, schedule, costs.times, groups);
    list.push_back(bubbleQuote(
        schedule,
        {"VPP has the bubble of balanced VPP for any m", "Zheng 2024", "(p−1)·(t_f+t_b)",
         "It holds if every group has at least p micro-batches and transfers are free. A separate group of "
         "fewer than p micro-batches adds idle time at every wrap-around, and causes a deadlock for some sizes."},
        (p - 1) * both, free && groups.wide));
    if (!free && groups_of_p) {
        list.push_back(
            bubbleQuote(schedule,
                        {"latency of 1F1B-I", "zero-bubble paper (ICLR), table 5", "(p−1)·(t_f+t_b) + (p·(2·v−1)−2)·c",
                         "It counts p·c less than the order takes when every transfer costs c. Correct is "
                         "(p−1)·(t_f+t_b) + 2·(v·p−1)·c if c is at most one op."},
                        (p - 1) * both + (p * (2 * v - 1) - 2) * costs.comm, false));
    }
    list.push_back(overIdealQuote(schedule, costs, schedule.vpp));
    list.back().holds = free && groups.wide;
    return list;
}

/// N where all forwards of the first rank come in runs of N of one chunk, as they do for p/2 ≤ N and m divisible by N;
/// otherwise 0.
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
        return usageError(
            "the closed form of interleaved (sail-sg) holds only for m divisible by the group size N ≥ p/2, "
            "N·(t_f+t_b) ≥ p·max(t_f, t_i) and t_w ≤ t_f+t_i",
            "use `bubblescope simulate`");
    }
    const TimeNs wrap = (p - n) * t.forward + std::max(TimeNs{0}, p * t.input_grad - n * t.backward);
    const TimeNs bubble = (p - 1) * (t.forward + t.input_grad) + (v - 1) * wrap;
    const std::string expression =
        n == p ? "(p−1)·(t_f+t_i)" : "(p−1)·(t_f+t_i) + (v−1)·((p−N)·t_f + max(0, p·t_i−N·t_b))";
    return makespanForm(schedule, costs, schedule.microbatches * v * (t.forward + t.backward) + bubble, expression,
                        "m·v·(t_f+t_b) + " + expression,
                        "N divides m, N ≥ p/2, N·(t_f+t_b) ≥ p·max(t_f, t_i), t_w ≤ t_f+t_i (per chunk); equal "
                        "stages, transfers free");
}

Result<ClosedForm> splitForm(const Schedule& schedule, const CostModel& costs) {
    if (schedule.flavor == "sail-sg") return sailSgForm(schedule, costs);
    const OpTimes& t = costs.times;
    const std::int64_t count = std::int64_t{schedule.microbatches} * schedule.vpp;
    const TimeNs bubble = (schedule.pp - 1) * (t.forward + t.input_grad);
    return makespanForm(schedule, costs, count * (t.forward + t.input_grad + t.weight_grad) + bubble, "(p−1)·(t_f+t_i)",
                        "m·v·(t_f+t_i+t_w) + (p−1)·(t_f+t_i)",
                        "m = p, any t_f, t_i and t_w (per chunk); equal stages, transfers free");
}

Result<ClosedForm> interleavedForm(const Schedule& schedule, const CostModel& costs) {
    return isSplitInterleaved(schedule.flavor) ? splitForm(schedule, costs) : wholeForm(schedule, costs);
}

Result<ClosedForm> interleavedGeneralForm(const Schedule& schedule, const CostModel& costs) {
    if (!isSplitInterleaved(schedule.flavor)) return wholeForm(schedule, costs);
    return usageError("with split backwards, interleaved has a closed form only for equal stages and free transfers");
}

PeakForm interleavedPeaks(const Schedule& schedule) {
    if (schedule.flavor == "sail-sg") return {};
    return wholePeaks(schedule);
}

std::vector<QuotedForm> interleavedQuotes(const Schedule& schedule, const CostModel& costs) {
    return isSplitInterleaved(schedule.flavor) ? std::vector<QuotedForm>{} : wholeQuotes(schedule, costs);
}

} // namespace

FamilyTheory interleaved1F1BTheory() {
    return {.family = "interleaved",
            .closed_form = interleavedForm,
            .peak_form = interleavedPeaks,
            .general_form = interleavedGeneralForm,
            .quoted_forms = interleavedQuotes};
}

} // namespace bubblescope
