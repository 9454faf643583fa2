// Looped breadth-first: every micro-batch through chunk 0, then every one through chunk 1, …; backwards
// from the last chunk to the first. Flavor torch runs the
// micro-batches of a backward in descending order.
//
// Closed form, with t_f and t_b of one chunk. A rank can start chunk c+1 once the first micro-batch has
// come round the loop, p·t_f after it started chunk c; it is busy with chunk c for m·t_f of them. With
// m ≥ p nothing is lost and the bubble is that of F-then-B in chunk times, (p−1)(t_f+t_b). With m < p each
// of the v−1 wraps loses (p−m)·t_f going forward and (p−m)·t_b going back. Latency lengthens the round as it
// lengthens filling and draining (latency.h).
// Descending backwards change the micro-batches' names only: each stage still gets one gradient every t_b.

#include "core/schedule/families/looped_bfs.h"

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/latency.h"
#include "core/theory/quotes.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace bubblescope {
namespace {

Result<Schedule> generate(const ScheduleSpec& spec) {
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const int m = spec.microbatches;
    const bool descending = spec.flavor == "torch";
    const auto forward = [&](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [&](int k) {
        const int at = k % m;
        return Op{OpKind::Backward, Microbatch{descending ? m - 1 - at : at}, Chunk{spec.vpp - 1 - k / m}};
    };
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), phaseOrder(m * spec.vpp, m * spec.vpp, forward, backward));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return breadthFirstForm(schedule, costs, "every m and v, every t_f, t_b and c (of one chunk); equal stages");
}

PeakForm peaks(const Schedule& schedule) {
    return peakForm(schedule, "m·v", "every p, m and v", [&](int) { return schedule.microbatches * schedule.vpp; });
}

std::vector<QuotedForm> quotes(const Schedule& schedule, const CostModel& costs) {
    return {overIdealQuote(schedule, costs, schedule.vpp)};
}

} // namespace

Result<ClosedForm> breadthFirstForm(const Schedule& schedule, const CostModel& costs, std::string domain) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const WrapLoss wrap = wrapLoss(schedule.pp, schedule.vpp, schedule.microbatches, costs);
    FormBuilder form(schedule, costs, std::move(domain));
    form.addFillAndDrain();
    if (costs.comm.count() == 0) {
        return form.add(Position::InsideWarmup, "(v−1)·max(0, p−m)·t_f", [&](int) { return wrap.forward; })
            .add(Position::InsideCooldown, "(v−1)·max(0, p−m)·t_b", [&](int) { return wrap.backward; })
            .finish("((p−1) + (v−1)·max(0, p−m))·(t_f+t_b)", "(m·v+p−1 + (v−1)·max(0, p−m))·(t_f+t_b)", true);
    }
    const std::string forward = "(v−1)·max(0, p·(t_f+c)−m·t_f)";
    const std::string backward = "(v−1)·max(0, p·(t_b+c)−m·t_b)";
    const std::string bubble = fmt::format("(p−1)·(t_f+t_b+2·c) + {} + {}", forward, backward);
    return form.add(Position::InsideWarmup, forward, [&](int) { return wrap.forward; })
        .add(Position::InsideCooldown, backward, [&](int) { return wrap.backward; })
        .finish(bubble, "m·v·(t_f+t_b) + " + bubble, true);
}

ScheduleFamily loopedBfsFamily() {
    return {"looped-bfs",
            "Looped breadth-first",
            {},
            {"breadth-first", "torch"},
            Placement::Loop,
            "m ≥ 1, v ≥ 1",
            generate,
            familyForm,
            peaks,
            familyForm,
            quotes};
}

} // namespace bubblescope
