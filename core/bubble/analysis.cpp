#include "core/bubble/analysis.h"

#include "core/base/median.h"
#include "core/bubble/consolidate.h"

#include <algorithm>

namespace bubblescope {
namespace {

/// Medians over all ranks and chunks: robust against the one slow stage that the comparison should show.
CostModel typicalCosts(const StepTimeline& step) {
    std::array<std::vector<TimeNs>, 5> alone;
    std::array<std::vector<TimeNs>, 5> paired;
    std::vector<TimeNs> pairs;
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops) {
            (op.op.overlapped ? paired : alone)[static_cast<std::size_t>(op.op.kind)].push_back(op.duration());
            if (op.op.overlapped) pairs.push_back(op.duration());
        }
    }
    // The half of a pair lasts as long as the pair, which says little of the op's own time.
    const auto of = [&](OpKind kind) {
        const auto index = static_cast<std::size_t>(kind);
        return median(alone[index].empty() ? paired[index] : alone[index]);
    };
    CostModel costs;
    costs.times = {of(OpKind::Forward), of(OpKind::Backward), of(OpKind::BackwardInput), of(OpKind::BackwardWeight),
                   of(OpKind::Optimizer)};
    if (costs.times.backward.count() == 0) costs.times.backward = costs.times.input_grad + costs.times.weight_grad;
    if (!pairs.empty()) costs.overlapped = median(pairs);
    return costs;
}

PerPosition<TimeNs> sumByPosition(const std::vector<Bubble>& bubbles) {
    PerPosition<TimeNs> sums{};
    for (const Bubble& bubble : bubbles)
        sums[positionIndex(bubble.position)] += bubble.duration();
    return sums;
}

RankAccount account(Rank rank, TimeNs wall, const std::vector<Bubble>& executed,
                    const std::vector<Bubble>& consolidated, const std::optional<ClosedForm>& form) {
    RankAccount result;
    result.rank = rank;
    result.executed = sumByPosition(executed);
    result.observed = sumByPosition(consolidated);
    for (const TimeNs bubble : result.executed)
        result.bubble += bubble;
    result.busy = wall - result.bubble;
    if (form) {
        result.expected_bubble = form->bubble[rank.index()];
        for (const PositionForm& part : form->positions) {
            if (part.rank == rank && part.kind == FormKind::Exact)
                result.expected[positionIndex(part.position)] += part.value;
        }
    }
    return result;
}

} // namespace

StepAnalysis analyzeStep(const StepTimeline& step, const Schedule& schedule) {
    StepAnalysis analysis;
    analysis.index = step.index;
    analysis.wall = step.wall();
    analysis.rates = bubbleRates(step);
    const CostModel costs = typicalCosts(step);
    analysis.typical = costs.times;
    analysis.bubbles = findBubbles(step);

    auto form = closedForm(schedule, costs);
    if (!form.ok()) {
        analysis.form_note = form.error().message;
    } else if (form.value().exact()) {
        analysis.form = std::move(form).value();
    } else {
        if (form.value().kind == FormKind::LowerBound) analysis.at_least = form.value().makespan;
        analysis.form_note = std::move(form.value().note);
    }

    const auto before_steady = analysis.form ? analysis.form->beforeSteady() : std::vector<TimeNs>{};
    const auto consolidated = findBubbles(consolidate(step, before_steady));
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        analysis.ranks.push_back(account(Rank{r}, analysis.wall, analysis.bubbles[r], consolidated[r], analysis.form));
    }
    return analysis;
}

} // namespace bubblescope
