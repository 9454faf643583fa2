// Closed forms of pipelines without a flush: 1F1B over the m micro-batches of K updates.
//
// The last rank never waits between its first forward and its last backward: 1F1B's argument (one_f_one_b.cpp). An
// update of time t_o delays its later ops. A backward that follows the update on the last rank arrives t_o later on
// rank p−2, which by then has done its own update of that group, since it had the same gap; and so on to rank 0. So all
// ranks lose no more than filling and draining, (p−1)·(t_f+t_b) for all K updates together. An order lists K−1 updates;
// the last one ends the step, outside the window.
//
// Steady state: between two updates a rank does N forwards, N backwards and one update without a gap, so an update
// takes N·(t_f+t_b) + t_o, and the bubble per update vanishes as K grows.

#include "core/theory/forms/family_theory.h"

#include "core/theory/forms/form_builder.h"

#include <algorithm>
#include <string>

namespace bubblescope {
namespace {

Result<ClosedForm> noFlushForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const std::string domain = "any m, N, t_f, t_b and t_o; equal stages, transfers free";
    const std::string bubble = "(p−1)·(t_f+t_b)";
    const std::string makespan = "(m+p−1)·(t_f+t_b) + (m/N−1)·t_o, t_o an update within the step";
    // Consolidation does not move ops past updates, so the inner positions are those of the order as executed.
    const TimeNs idle = (schedule.pp - 1) * (costs.times.forward + costs.times.backward);
    if (costs.times.optimizer == TimeNs{0})
        return FormBuilder(schedule, costs, domain).addEnds().withTotal(idle).finish(bubble, makespan);
    return makespanForm(schedule, costs, busyTime(schedule, Rank{0}, costs) + idle, bubble, makespan, domain);
}

PeakForm noFlushPeaks(const Schedule& schedule) {
    return peakForm(schedule, "min(m, p−s)", "any p, m and N",
                    [&](int s) { return std::min(schedule.microbatches, schedule.pp - s); });
}

/// The papers' claims on the bubble, which hold in the limit.
std::vector<QuotedForm> noFlushQuotes(const Schedule& schedule, const CostModel& costs) {
    const bool none = schedule.pp == 1 || costs.times.forward + costs.times.backward == TimeNs{0};
    return {bubbleQuote(schedule,
                        {"pipelines without a flush have no bubble", "Narayanan et al. 2019, 2021", "0",
                         "It is the limit for many updates: between two updates no rank waits. Filling and draining "
                         "cost (p−1)·(t_f+t_b) once."},
                        TimeNs{0}, none)};
}

} // namespace

FamilyTheory pipeDream2BwTheory() {
    return {.family = "pipedream-2bw",
            .closed_form = noFlushForm,
            .peak_form = noFlushPeaks,
            .quoted_forms = noFlushQuotes};
}

FamilyTheory pipeDreamTheory() {
    return {
        .family = "pipedream", .closed_form = noFlushForm, .peak_form = noFlushPeaks, .quoted_forms = noFlushQuotes};
}

} // namespace bubblescope
