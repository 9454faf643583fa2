#include "tests/property/form_check.h"

#include "core/graph/consolidate.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/timeline/bubbles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace bubblescope::test {
namespace {

std::string label(const Schedule& s, const CostModel& costs) {
    const OpTimes& t = costs.times;
    return fmt::format("{} {} p={} m={} v={} F={} B={} I={} W={} FB={} AR={} c={}{}", s.name, s.flavor, s.pp,
                       s.microbatches, s.vpp, t.forward.count(), t.backward.count(), t.input_grad.count(),
                       t.weight_grad.count(), costs.overlapped.value_or(TimeNs{-1}).count(), costs.all_reduce.count(),
                       costs.comm.count(), costs.stages.empty() ? "" : " with times per stage");
}

/// Idle time per rank and position; the timeline's pairs are counted once.
std::vector<PerPosition<TimeNs>> positionSums(const StepTimeline& step) {
    std::vector<PerPosition<TimeNs>> sums(step.ranks.size(), PerPosition<TimeNs>{});
    for (const auto& bubbles : findBubbles(step)) {
        for (const Bubble& bubble : bubbles)
            sums[bubble.rank.index()][positionIndex(bubble.position)] += bubble.duration();
    }
    return sums;
}

/// Consolidation reads latencies from the transfers; without any it need not look.
StepTimeline gather(StepTimeline executed, const CostModel& costs, const std::vector<TimeNs>& before_steady) {
    if (costs.comm.count() == 0) executed.comm.assign(executed.ranks.size(), {});
    return consolidate(executed, before_steady);
}

std::vector<TimeNs> idleTimes(const StepTimeline& step) {
    std::vector<TimeNs> idle;
    for (const PerPosition<TimeNs>& sums : positionSums(step)) {
        TimeNs total{0};
        for (const TimeNs time : sums)
            total += time;
        idle.push_back(total);
    }
    return idle;
}

int comparePositions(const StepTimeline& executed, const CostModel& costs, const ClosedForm& form,
                     const std::string& where) {
    if (form.positions.empty()) return 0;
    const StepTimeline gathered = gather(executed, costs, form.beforeSteady());
    const auto observed = positionSums(gathered);
    EXPECT_EQ(gathered.wall(), executed.wall()) << where;
    int compared = 0;
    const auto compare = [&](Rank rank, Position position, FormKind kind, TimeNs value) {
        const TimeNs seen = observed[rank.index()][positionIndex(position)];
        const bool right = kind == FormKind::Exact        ? seen == value
                           : kind == FormKind::LowerBound ? seen >= value
                                                          : seen <= value;
        EXPECT_TRUE(right) << where << " rank " << rank.value << " " << positionName(position) << ": simulated "
                           << seen.count() << ", " << formKindName(kind) << " " << value.count();
        ++compared;
    };
    if (!form.positionsKnown()) {
        for (const PositionForm& part : form.positions)
            compare(part.rank, part.position, part.kind, part.value);
        return compared;
    }
    std::vector<PerPosition<TimeNs>> values(form.bubble.size(), PerPosition<TimeNs>{});
    for (const PositionForm& part : form.positions)
        values[part.rank.index()][positionIndex(part.position)] += part.value;
    for (std::size_t r = 0; r < values.size(); ++r) {
        for (std::size_t i = 0; i < kPositionCount; ++i)
            compare(Rank{r}, static_cast<Position>(i), FormKind::Exact, values[r][i]);
    }
    return compared;
}

int compareRates(const StepTimeline& executed, const ClosedForm& form, const std::string& where) {
    const BubbleRates rates = bubbleRates(executed);
    EXPECT_NEAR(rates.over_makespan, form.bubble_rate, 1e-12) << where;
    EXPECT_NEAR(rates.over_ideal, form.over_ideal, 1e-12) << where;
    if (!form.span_bubble_rate) return 2;
    EXPECT_NEAR(rates.span, *form.span_bubble_rate, 1e-12) << where;
    return 3;
}

int comparePeaks(const Schedule& schedule, const ClosedForm& form, const std::string& where) {
    if (!form.peaks) return 0;
    const auto peaks = peakActivations(schedule);
    EXPECT_EQ(peaks.size(), form.peaks->values.size()) << where;
    for (std::size_t r = 0; r < peaks.size(); ++r) {
        const int value = form.peaks->values[r];
        switch (form.peaks->kind) {
        case FormKind::Exact: EXPECT_EQ(peaks[r], value) << where << " rank " << r; break;
        case FormKind::LowerBound: EXPECT_GE(peaks[r], value) << where << " rank " << r; break;
        case FormKind::UpperBound: EXPECT_LE(peaks[r], value) << where << " rank " << r; break;
        }
    }
    return static_cast<int>(peaks.size());
}

/// The simulated values for a quote: one for each of its values.
std::vector<double> simulatedQuantity(const StepTimeline& executed, const CostModel& costs,
                                      const std::vector<QuotedForm>& quotes, const QuotedForm& quote) {
    const auto counts = [](const std::vector<TimeNs>& times) {
        std::vector<double> values;
        for (const TimeNs time : times)
            values.push_back(static_cast<double>(time.count()));
        return values;
    };
    const BubbleRates rates = bubbleRates(executed);
    switch (quote.quantity) {
    case Quantity::Bubble: return counts(idleTimes(executed));
    case Quantity::Makespan: return counts({executed.wall()});
    case Quantity::BubbleRate: return {rates.over_makespan};
    case Quantity::SpanBubbleRate: return {rates.span};
    case Quantity::OverIdeal: return {rates.over_ideal};
    case Quantity::SpanBubble: {
        TimeNs longest{0};
        TimeNs idle{0};
        const auto idle_times = idleTimes(executed);
        for (std::size_t r = 0; r < executed.ranks.size(); ++r) {
            const TimeNs span = executed.ranks[r].back().end - executed.ranks[r].front().start;
            if (span <= longest) continue;
            longest = span;
            idle = idle_times[r] - (executed.wall() - span);
        }
        return counts({idle});
    }
    case Quantity::PositionBubble: {
        // An inner split is right if the ops can be placed so; what a quote wants before the steady part goes first.
        std::vector<TimeNs> wanted;
        for (const QuotedForm& other : quotes) {
            if (other.quantity == Quantity::PositionBubble && other.position == Position::WarmupToSteady)
                wanted = other.values;
        }
        std::vector<TimeNs> values;
        for (const auto& sums : positionSums(gather(executed, costs, wanted)))
            values.push_back(sums[positionIndex(quote.position)]);
        return counts(values);
    }
    }
    return {};
}

bool gridsAreFull() {
    const char* const size = std::getenv("BUBBLESCOPE_GRIDS");
    return size != nullptr && std::string_view(size) == "full";
}

} // namespace

OpTimes wholeTimes(Ratio ratio) {
    return makeOpTimes(TimeNs{ratio.forward}, TimeNs{ratio.backward}, {}, {}).value();
}

OpTimes splitTimes(int forward, int input_grad, int weight_grad) {
    return makeOpTimes(TimeNs{forward}, {}, TimeNs{input_grad}, TimeNs{weight_grad}).value();
}

FormCheck checkForm(const Schedule& schedule, const CostModel& costs) {
    const std::string where = label(schedule, costs);
    const auto result = closedForm(schedule, costs);
    const auto step = simulate(schedule, costs);
    EXPECT_EQ(result.ok(), step.ok()) << where;
    FormCheck check;
    check.refused = !result.ok();
    if (!result.ok() || !step.ok()) return check;

    const ClosedForm& form = result.value();
    const StepTimeline& executed = step.value();
    check.kind = form.kind;
    check.compared = comparePeaks(schedule, form, where);
    EXPECT_EQ(form.exact(), form.note.empty()) << where;
    const auto idle = idleTimes(executed);
    if (form.exact()) {
        EXPECT_EQ(executed.wall(), form.makespan) << where;
        EXPECT_EQ(idle, form.bubble) << where;
        check.compared += compareRates(executed, form, where) + comparePositions(executed, costs, form, where);
    } else {
        const bool lower = form.kind == FormKind::LowerBound;
        for (std::size_t r = 0; r < idle.size(); ++r)
            EXPECT_TRUE(lower ? form.bubble[r] <= idle[r] : form.bubble[r] >= idle[r]) << where << " rank " << r;
        EXPECT_TRUE(lower ? form.makespan <= executed.wall() : form.makespan >= executed.wall()) << where;
    }
    check.compared += 1 + static_cast<int>(idle.size());
    return check;
}

int compareWithSimulation(const ScheduleSpec& spec, const CostModel& costs) {
    const Schedule schedule = makeSchedule(spec).value();
    const FormCheck check = checkForm(schedule, costs);
    EXPECT_TRUE(!check.refused && check.kind == FormKind::Exact) << label(schedule, costs);
    return check.compared;
}

int compareWithSimulation(const ScheduleSpec& spec, const OpTimes& times) {
    CostModel costs;
    costs.times = times;
    return compareWithSimulation(spec, costs);
}

int checkQuotes(const Schedule& schedule, const CostModel& costs) {
    const auto form = closedForm(schedule, costs);
    if (!form.ok()) return 0; // deadlocks
    const auto& quotes = form.value().quoted;
    if (quotes.empty()) return 0;
    const StepTimeline executed = simulate(schedule, costs).value();
    for (const QuotedForm& quote : quotes) {
        const auto simulated = simulatedQuantity(executed, costs, quotes, quote);
        bool equal = true;
        if (quote.values.empty()) {
            const double digits = quote.expression.ends_with("%") ? 0.005 : 1e-9; // quoted as a whole percentage
            equal = std::abs(simulated.front() - quote.ratio) <= digits;
        } else {
            for (std::size_t i = 0; i < quote.values.size(); ++i)
                equal = equal && simulated[i] == static_cast<double>(quote.values[i].count());
        }
        EXPECT_EQ(quote.holds, equal) << label(schedule, costs) << ": " << quote.name;
        EXPECT_GE(std::ranges::count(quote.verdict, '.'), 2) << quote.name;
    }
    return static_cast<int>(quotes.size());
}

bool inGrid(int p) {
    return p <= 8 || p == 10 || p == 12 || p >= 16 || gridsAreFull();
}

bool timesInGrid(int p, int m, std::size_t index) {
    return p <= 8 || (static_cast<std::size_t>(m) + index) % 2 == 0 || gridsAreFull();
}

void reportCompared(int compared) {
    testing::Test::RecordProperty("compared", compared);
    fmt::print("compared {} values\n", compared);
}

} // namespace bubblescope::test
