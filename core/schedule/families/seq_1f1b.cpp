// Seq1F1B: 1F1B whose unit is a slice of a micro-batch's sequence. Slices of a micro-batch go forward in order,
// since attention looks back, and their gradients come in the reverse order, since a slice's gradient
// gathers what later slices did with its keys and values.
//
// With k slices a micro-batch, rank s runs min(m·k, p−s−1 + k−1) warm-up forwards: the last rank can
// turn around only when it has the last slice. From there each rank runs one forward and one backward in
// turn.
//
// Closed form, with t_f and t_b the times of one slice. All ranks run the same list of units and differ
// in warm-up by one a rank, as in 1F1B, and the last rank goes from its k−1 warm-up forwards to its steady part
// without waiting: the argument of one_f_one_b.cpp holds word for word with m·k units. So the bubble is
// (p−1)(t_f+t_b) in times of a slice, a k-th of what 1F1B loses.

#include "core/schedule/dependency.h"
#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope {
namespace {

int warmupForwards(int p, int units, int k, int s) {
    return std::min(units, p - s - 1 + k - 1);
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int k = spec.sequence_slices;
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out"));
    if (k < 1 || k > kMaxSequenceSlices) {
        return usageError(fmt::format("{} is not a number of sequence slices", k),
                          fmt::format("give 1 to {}", kMaxSequenceSlices));
    }
    constexpr int kMaxUnits = 100'000'000; // as many as any schedule's ops on all ranks may be
    if (spec.microbatches > kMaxUnits / k / spec.pp)
        return usageError("the schedule would have more than 200 million ops", "lower the number of slices");
    const auto forward = [&](int unit) { return Op{OpKind::Forward, Microbatch{unit / k}, Chunk{0}, unit % k}; };
    const auto backward = [&](int unit) {
        return Op{OpKind::Backward, Microbatch{unit / k}, Chunk{0}, k - 1 - unit % k};
    };
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const int units = spec.microbatches * k;
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(phaseOrder(units, warmupForwards(spec.pp, units, k, s), forward, backward));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return FormBuilder(schedule, costs,
                       "every m, every number of slices, every t_f and t_b (of one slice); equal slices and stages, "
                       "transfers free")
        .addFillAndDrain()
        .finish("(p−1)·(t_f+t_b)", "(m·k+p−1)·(t_f+t_b), k slices a micro-batch");
}

PeakForm peaks(const Schedule& schedule) {
    int slices = 1;
    for (const Op& op : schedule.ranks.front())
        slices = std::max(slices, op.sequence + 1);
    const int units = schedule.microbatches * slices;
    return peakForm(schedule, "min(m·k, p−s−1+k) slices", "every m and k",
                    [=, p = schedule.pp](int s) { return std::min(units, p - s - 1 + slices); });
}

} // namespace

ScheduleFamily seq1F1BFamily() {
    return {"seq1f1b", "Seq1F1B (sequence slices)", {}, {}, Placement::Loop, "m ≥ 1, v = 1", generate, familyForm,
            peaks};
}

} // namespace bubblescope
