// Closed forms of the orders on slices of sequences, with t_f and t_b the times of one slice of one chunk.
//
// Seq1F1B (Sun et al., 2024). All ranks run the same list of units and differ in warm-up by one per rank, as in 1F1B,
// and the last rank goes from its k−1 warm-up forwards to its steady part without waiting. The argument of 1F1B
// (one_f_one_b.cpp) therefore holds with m·k units, and the bubble is (p−1)(t_f+t_b) in times of a slice, a k-th of
// what 1F1B loses.
//
// Several chunks. The argument of interleaved 1F1B (interleaved_1f1b.cpp) holds with slices as units: a rank never
// waits for its own wrap-around while every group has at least p slices. The bubble is then again (p−1)(t_f+t_b), which
// is smaller than that of 1F1B by the factor v·k. A single group with fewer slices loses the missing p−m·k of them at
// each of the v−1 wraps. Several such groups wait by amounts for which no form is known.
//
// SeqSmartVPP starts its backwards earlier. Its ranks then wait before the first backward of each chunk instead of
// after it; the total remains. With several chunks only the outer positions are given: groups of few micro-batches do
// not always leave room to make the steady parts contiguous.

#include "core/theory/forms/family_theory.h"

#include "core/theory/forms/form_builder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// The slices and groups of an order.
struct SlicedOrder {
    explicit SlicedOrder(const Schedule& schedule) : units(0) {
        bool open = false;
        for (const Op& op : schedule.ranks.front()) {
            if (op.kind != OpKind::Forward) continue;
            slices = std::max(slices, op.sequence + 1);
            ++units;
            if (op.chunk.value == 0 && !open) groups.push_back(0);
            open = op.chunk.value == 0;
            if (open) ++groups.back();
        }
    }

    [[nodiscard]] int least() const { return std::ranges::min(groups); }

    int slices = 1;
    int units;
    std::vector<int> groups; ///< in slices
};

/// True if neighbours' warm-ups differ by two, as they do for several chunks except in SeqSmartVPP.
bool coversReturn(const Schedule& schedule) {
    return schedule.vpp > 1 && schedule.name != "seqsmartvpp";
}

bool forwardsFirst(const Schedule& schedule, const SlicedOrder& order) {
    return std::ranges::all_of(schedule.ranks.back().begin(), schedule.ranks.back().begin() + order.units,
                               [](const Op& op) { return op.kind == OpKind::Forward; });
}

Result<ClosedForm> slicesForm(const Schedule& schedule, const CostModel& costs) {
    const SlicedOrder order(schedule);
    const int missing = schedule.vpp == 1 ? 0 : std::max(0, schedule.pp - order.least());
    if (missing > 0 && order.groups.size() > 1)
        return usageError("no known closed form for several groups of fewer slices than ranks");
    const std::string domain = "any t_f and t_b (per slice and chunk); equal slices and stages, transfers free";
    if (missing > 0) {
        const TimeNs lost =
            (schedule.pp - 1 + (schedule.vpp - 1) * missing) * (costs.times.forward + costs.times.backward);
        return FormBuilder(schedule, costs, "one group of m·k < p slices, " + domain)
            .addEnds()
            .withTotal(lost)
            .finish("(p−1 + (v−1)·(p−m·k))·(t_f+t_b)", "(m·v·k+p−1 + (v−1)·(p−m·k))·(t_f+t_b)");
    }
    FormBuilder form(schedule, costs,
                     (schedule.vpp == 1 ? "any m and k, " : "every group has at least p slices, ") + domain);
    if (schedule.vpp == 1) {
        form.addFillAndDrain();
    } else {
        form.addEnds().withTotal((schedule.pp - 1) * (costs.times.forward + costs.times.backward));
    }
    return form.finish("(p−1)·(t_f+t_b)", "(m·v·k+p−1)·(t_f+t_b), k slices per micro-batch");
}

PeakForm slicesPeaks(const Schedule& schedule) {
    const SlicedOrder order(schedule);
    const int p = schedule.pp;
    if (schedule.vpp > 1 && forwardsFirst(schedule, order))
        return peakForm(schedule, "m·v·k slices", "all forwards first", [&](int) { return order.units; });
    const int distance = coversReturn(schedule) ? 2 : 1;
    const int lead = (schedule.vpp - 1) * order.groups.front() + order.slices;
    std::string text = distance == 2 ? "min(m·v·k, 2·(p−s−1) + (v−1)·N·k + k) slices, N the first group"
                                     : "min(m·v·k, p−s−1 + (v−1)·N·k + k) slices, N the first group";
    if (schedule.vpp == 1) text = "min(m·k, p−s−1+k) slices";
    return peakForm(schedule, std::move(text), "any p, m, v and k",
                    [=](int s) { return std::min(order.units, (p - s - 1) * distance + lead); });
}

} // namespace

FamilyTheory seq1F1BTheory() {
    return {.family = "seq1f1b", .closed_form = slicesForm, .peak_form = slicesPeaks};
}

FamilyTheory seqPipeTheory() {
    return {.family = "seqpipe", .closed_form = slicesForm, .peak_form = slicesPeaks};
}

FamilyTheory seqVppTheory() {
    return {.family = "seqvpp", .closed_form = slicesForm, .peak_form = slicesPeaks};
}

FamilyTheory seqSmartVppTheory() {
    return {.family = "seqsmartvpp", .closed_form = slicesForm, .peak_form = slicesPeaks};
}

} // namespace bubblescope
