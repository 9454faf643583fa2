#include "core/theory/analysis.h"

#include "core/cost/measured_times.h"
#include "core/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope {
namespace {

PerPosition<TimeNs> sumByPosition(const std::vector<Bubble>& bubbles) {
    PerPosition<TimeNs> sums{};
    for (const Bubble& bubble : bubbles)
        sums[positionIndex(bubble.position)] += bubble.duration();
    return sums;
}

RankAccount account(Rank rank, TimeNs wall, const std::vector<Bubble>& executed,
                    const PerPosition<TimeNs>& consolidated, const std::optional<ClosedForm>& form) {
    RankAccount result;
    result.rank = rank;
    result.executed = sumByPosition(executed);
    result.observed = consolidated;
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

/// Multiplies times by `numerator` / `denominator`, rounding down.
void scaleDown(CostModel& costs, TimeNs numerator, TimeNs denominator) {
    const double factor = static_cast<double>(numerator.count()) / static_cast<double>(denominator.count());
    const auto scale = [factor](TimeNs& time) {
        time = TimeNs{static_cast<std::int64_t>(static_cast<double>(time.count()) * factor)};
    };
    OpTimes& times = costs.times;
    const bool of_halves = times.backward + costs.all_reduce == times.input_grad + times.weight_grad;
    scale(costs.all_reduce);
    for (TimeNs* const time :
         {&times.forward, &times.backward, &times.input_grad, &times.weight_grad, &times.optimizer})
        scale(*time);
    if (of_halves) times.backward = times.input_grad + times.weight_grad - costs.all_reduce;
    if (costs.overlapped) scale(*costs.overlapped);
}

} // namespace

void StepAnalysis::keepTotals() {
    std::vector<std::vector<Bubble>>().swap(bubbles);
    ranks.pack();
    if (!form) return;
    ClosedForm totals;
    totals.makespan = form->makespan;
    totals.kind = form->kind;
    totals.bubble_rate = form->bubble_rate;
    totals.span_bubble_rate = form->span_bubble_rate;
    totals.over_ideal = form->over_ideal;
    totals.f_then_b = form->f_then_b;
    form = std::move(totals);
}

void countReplays(StepAnalysis& analysis, const StepReplays& replays) {
    if (replays.empty()) return;
    std::vector<RankAccount>& ranks = analysis.ranks.edit();
    for (std::size_t r = 0; r < std::min(replays.size(), ranks.size()); ++r) {
        TimeNs& replay = ranks[r].replay;
        auto span = replays[r].begin();
        for (const Bubble& bubble : analysis.bubbles[r]) { // both are sorted by start
            while (span != replays[r].end() && span->second <= bubble.start)
                ++span;
            for (auto at = span; at != replays[r].end() && at->first < bubble.end; ++at)
                replay += std::min(at->second, bubble.end) - std::max(at->first, bubble.start);
        }
    }
}

StepAnalysis analyzeStep(const StepTimeline& step, const Schedule& schedule) {
    return StepAnalyzer(schedule).analyze(step);
}

StepAnalysis StepAnalyzer::analyze(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran) {
    const bool same_order = take(step, std::move(ran));
    StepAnalysis analysis = asItRan(step, consolidation_->order());
    analysis.order_of_previous = same_order;
    consolidate(step, analysis);
    return analysis;
}

void StepAnalyzer::complete(StepAnalysis& analysis, const StepTimeline& step,
                            std::shared_ptr<const ExecutedUnits> ran) {
    analysis.order_of_previous = take(step, std::move(ran));
    consolidate(step, analysis);
}

/// True if the step has the same order as the latest one.
bool StepAnalyzer::take(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran) {
    if (consolidation_) return consolidation_->assign(step, std::move(ran));
    consolidation_.emplace(step, std::move(ran));
    return false;
}

StepAnalysis StepAnalyzer::asItRan(const StepTimeline& step, const StepOrder& order) const {
    StepAnalysis analysis;
    analysis.index = step.index;
    analysis.replica = step.replica;
    analysis.wall = step.wall();
    analysis.rates = bubbleRates(step);
    CostModel costs = typicalOpCosts(step); // the forms by position assume transfers that take no time
    analysis.bubbles = findBubbles(step, order);

    auto form = closedForm(schedule_, costs);
    if (form.ok() && form.value().makespan > analysis.wall) {
        scaleDown(costs, analysis.wall, form.value().makespan);
        form = closedForm(schedule_, costs);
    }
    analysis.typical = costs.times;
    if (!form.ok()) {
        analysis.form_note = form.error().message;
    } else if (form.value().exact()) {
        analysis.form = std::move(form).value();
    } else {
        if (form.value().kind == FormKind::LowerBound) analysis.at_least = form.value().makespan;
        analysis.form_note = std::move(form.value().note);
    }

    analysis.positions_known = analysis.form && analysis.form->positionsKnown();
    return analysis;
}

void StepAnalyzer::consolidate(const StepTimeline& step, StepAnalysis& analysis) {
    const auto before_steady = analysis.form ? analysis.form->beforeSteady() : std::vector<TimeNs>{};
    // Where stages move, ops also wait for weights, without which consolidation would move them too far.
    std::vector<PerPosition<TimeNs>> consolidated;
    if (step.placement == Placement::Moving) {
        for (const std::vector<Bubble>& bubbles : analysis.bubbles)
            consolidated.push_back(sumByPosition(bubbles));
    } else {
        consolidated = consolidation_->bubbles(before_steady);
    }
    std::vector<RankAccount>& ranks = analysis.ranks.edit();
    ranks.reserve(step.ranks.size());
    for (std::size_t r = 0; r < step.ranks.size(); ++r)
        ranks.push_back(account(Rank{r}, analysis.wall, analysis.bubbles[r], consolidated[r], analysis.form));
}

const PositionForm* findForm(const StepAnalysis& analysis, Rank rank, Position position) {
    if (!analysis.form) return nullptr;
    const auto found = std::ranges::find_if(analysis.form->positions, [&](const PositionForm& form) {
        return form.rank == rank && form.position == position;
    });
    return found == analysis.form->positions.end() ? nullptr : &*found;
}

FormComparison compareWithForm(const StepAnalysis& analysis, const Bubble& bubble) {
    // Consolidation may change a position's idle time by this much before its bubbles stop being comparable.
    constexpr double kSamePosition = 0.01;
    if (!analysis.positionsKnown()) return {};
    const std::size_t position = positionIndex(bubble.position);
    const RankAccount account = analysis.ranks[bubble.rank.index()];
    FormComparison out;
    out.expected = account.expected[position];
    out.form = findForm(analysis, bubble.rank, bubble.position);
    const auto executed = static_cast<double>(account.executed[position].count());
    const auto observed = static_cast<double>(account.observed[position].count());
    if (out.form == nullptr || out.expected == TimeNs{0}) {
        out.kind = FormComparison::Kind::NotInForm;
    } else if (std::abs(executed - observed) > kSamePosition * std::max(executed, observed)) {
        out.kind = FormComparison::Kind::Moved;
    } else {
        const auto same = std::ranges::count(analysis.bubbles[bubble.rank.index()], bubble.position, &Bubble::position);
        out.kind = same > 1 ? FormComparison::Kind::Several : FormComparison::Kind::Comparable;
    }
    return out;
}

} // namespace bubblescope
