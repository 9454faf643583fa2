// Closed forms of 1F1B with one or two encoders before a trunk.
//
// P is the length of the longest path, the longer encoder and the trunk; d is the number of stages before a rank on its
// own path. A rank of the shorter encoder has δ stages less to the trunk than its neighbour in the longer one.
//
// Equal stages. The longest path is a chain of P stages that runs 1F1B, so it takes at least (m+P−1)·(t_f+t_b). The
// shorter encoder starts together with the longer one and delivers each output δ·t_f earlier than needed; its gradients
// leave the trunk together with those for the longer encoder. It thus delays nothing, and every rank idles for
// (P−1)·(t_f+t_b). Its first backward starts when the gradient has passed the P−d−1−δ stages after it, and its warm-up
// of P−d−1 forwards has filled the pipeline until then. Hence, as in one_f_one_b.cpp, (P−d−1−δ)·t_b before the steady
// part and (P−d−1)·t_f after it. Its backwards end δ·t_b before those of the longer encoder. Nothing waits for them, so
// on the consolidated timeline the cool-down is as late as the longer encoder's, and that time lies before it.
//
// With latency, the turns between forward and backward on the longest path cost what they cost in a chain (latency.h).
//
// Unequal stages. The forwards reach the trunk when the slower encoder has run the first of them, and the step ends
// when the slower one has run the last backward. Where the last stage is the slowest, it never waits between its first
// op and its last, as in one_f_one_b.cpp.

#include "core/theory/forms/family_theory.h"
#include "core/theory/forms/form_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

Result<ClosedForm> equalEncoderForm(const Schedule& schedule, const CostModel& costs) {
    const Encoders encoders = encodersOf(schedule.placement);
    const int length = pathLength(schedule.placement, schedule.pp);
    const auto [t, c] = std::pair(costs.times, costs.comm);
    const bool free = freeTransfers(costs);
    FormBuilder form(schedule, costs,
                     free ? "any m, any t_f and t_b, c = 0; equal stages; P = ranks of the longer encoder and the trunk"
                          : "any m, any t_f, t_b and c; equal stages; P = ranks of the longer encoder and the trunk");
    for (int s = 0; s < schedule.pp; ++s) {
        const int d = pathPlace(schedule.placement, s);
        const int own = s < encoders.first ? encoders.first : encoders.second;
        const int less = s < encoders.ranks() ? encoders.depth() - own : 0;
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, free ? "d·t_f" : "d·(t_f+c)", d * (t.forward + c)},
                                        {Position::AfterCooldown, free ? "d·t_b" : "d·(t_b+c)", d * (t.backward + c)}};
        if (free) {
            const int below = length - d - 1;
            terms.push_back(
                {Position::WarmupToSteady, less > 0 ? "(P−d−1−δ)·t_b" : "(P−d−1)·t_b", (below - less) * t.backward});
            terms.push_back({Position::SteadyToCooldown, less > 0 ? "(P−d−1)·t_f + δ·t_b" : "(P−d−1)·t_f",
                             below * t.forward + less * t.backward});
        }
        form.addRank(s, std::move(terms));
    }
    if (free) return form.finish("(P−1)·(t_f+t_b)", "(m+P−1)·(t_f+t_b)");
    const TimeNs fill = (length - 1) * (t.forward + t.backward + 2 * c);
    return form.withTotal(fill + turningLoss(length, schedule.microbatches, 1, costs))
        .finish("(P−1)·(t_f+t_b) + 2·c·(P−1 + ⌊(m−1)·(P−1)/P⌋)", "(m+P−1)·(t_f+t_b) + 2·c·(P−1 + ⌊(m−1)·(P−1)/P⌋)");
}

Result<ClosedForm> unequalEncoderForm(const Schedule& schedule, const CostModel& costs) {
    const auto period = [](const OpTimes& t) { return t.forward + t.backward; };
    const TimeNs last = period(costs.stages.back());
    const bool slowest = std::ranges::all_of(costs.stages, [&](const OpTimes& t) { return period(t) <= last; });
    if (!slowest || !freeTransfers(costs))
        return usageError("with encoders and unequal stages, 1f1b has an exact form only if transfers are free and the "
                          "last stage is the slowest");
    const Encoders encoders = encodersOf(schedule.placement);
    const auto slower = [&](TimeNs OpTimes::*time) {
        const auto begin = costs.stages.begin();
        const auto sum = [time](TimeNs so_far, const OpTimes& stage) { return so_far + stage.*time; };
        const auto second = begin + encoders.first;
        return std::max(std::accumulate(begin, second, TimeNs{0}, sum),
                        std::accumulate(second, second + encoders.second, TimeNs{0}, sum));
    };
    TimeNs makespan = slower(&OpTimes::forward) + slower(&OpTimes::backward) + (schedule.microbatches - 1) * last;
    for (std::size_t s = static_cast<std::size_t>(encoders.ranks()); s < costs.stages.size(); ++s)
        makespan += period(costs.stages[s]);
    return makespanForm(schedule, costs, makespan, "the makespan − m·t of the rank",
                        "max Σt_f + max Σt_b of an encoder + Σt of the trunk + (m−1)·t_last, t = t_f+t_b",
                        "any m, the last stage's t_f+t_b the largest; transfers free");
}

} // namespace

Result<ClosedForm> encoderForm(const Schedule& schedule, const CostModel& costs) {
    return costs.stages.empty() ? equalEncoderForm(schedule, costs) : unequalEncoderForm(schedule, costs);
}

} // namespace bubblescope
