#include "core/analysis/period/step_period.h"

#include "core/analysis/statistics/robust.h"
#include "core/base/median.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

/// The span of one step number over all its replicas.
struct NumberSpan {
    TimeNs begin = TimeNs::max();
    TimeNs end = TimeNs::min();
    Rank first;
};

std::map<int, NumberSpan> spansOf(std::span<const StepTimeline> steps) {
    std::map<int, NumberSpan> spans;
    for (const StepTimeline& step : steps) {
        NumberSpan& span = spans[step.index];
        span.end = std::max(span.end, step.end);
        if (step.begin >= span.begin) continue;
        span.begin = step.begin;
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            if (!step.ranks[r].empty() && step.ranks[r].front().start == step.begin) span.first = Rank{r};
        }
    }
    return spans;
}

bool counts(const SelectedStep& step) {
    return step.why == SetAside::None || step.why == SetAside::Outlier;
}

} // namespace

std::vector<StepGap> gapsBetween(std::span<const StepTimeline> steps, const StepSelection& selection) {
    const std::map<int, NumberSpan> spans = spansOf(steps);
    std::vector<StepGap> gaps;
    const SelectedStep* before = nullptr;
    for (const SelectedStep& step : selection.steps()) {
        const SelectedStep* const last = std::exchange(before, &step);
        if (last == nullptr || last->index + 1 != step.index || !counts(*last) || !counts(step)) continue;
        const NumberSpan& from = spans.at(last->index);
        const NumberSpan& to = spans.at(step.index);
        if (to.begin < from.begin) continue; // the numbers do not show which step ran first
        gaps.push_back({last->longest,
                        {from.end, std::max(from.end, to.begin)},
                        to.begin - from.end,
                        to.begin - from.begin,
                        to.first,
                        step.index});
    }
    return gaps;
}

std::vector<std::size_t> longSteps(const StepSelection& selection) {
    constexpr double kShare = 1.05;
    constexpr double kDeviations = 5;
    std::vector<double> times;
    for (const SelectedStep& step : selection.steps()) {
        if (counts(step)) times.push_back(static_cast<double>(step.time.count()));
    }
    const auto typical = static_cast<double>(selection.stepTime().count());
    const double limit = std::max(kShare * typical, typical + kDeviations * statistics::robustSigma(times));
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < selection.steps().size(); ++i) {
        const SelectedStep& step = selection.steps()[i];
        if (counts(step) && static_cast<double>(step.time.count()) > limit) found.push_back(i);
    }
    if (3 * found.size() > times.size()) found.clear();
    return found;
}

std::optional<int> rhythmOf(std::span<const int> ascending) {
    constexpr std::size_t kFewest = 3;
    if (ascending.size() < kFewest) return std::nullopt;
    const int distance = ascending[1] - ascending[0];
    for (std::size_t i = 2; i < ascending.size(); ++i) {
        if (ascending[i] - ascending[i - 1] != distance) return std::nullopt;
    }
    return distance >= 2 ? std::optional(distance) : std::nullopt;
}

StepPeriod periodOf(std::span<const StepTimeline> steps, const StepSelection& selection,
                    const ActivityOfRanks& activities) {
    StepPeriod out;
    const std::vector<StepGap> gaps = gapsBetween(steps, selection);
    if (gaps.empty()) return out;
    const auto count = static_cast<std::int64_t>(gaps.size());
    out.periods = gaps.size();
    out.step = selection.stepTime();
    std::vector<TimeNs> between;
    TimeNs all{0};
    for (const StepGap& gap : gaps) {
        between.push_back(gap.between);
        all += gap.period;
    }
    out.between = median(std::move(between));
    out.rare = all / count - out.step - out.between;
    for (const std::size_t place : longSteps(selection)) {
        out.long_excess += (selection.steps()[place].time - out.step) / count;
        out.long_steps.push_back(selection.steps()[place].index);
    }
    out.every = rhythmOf(out.long_steps);
    for (std::size_t a = 0; a < kHostActivityCount; ++a) {
        BetweenSteps most{static_cast<HostActivity>(a), 0, Rank{0}, TimeNs{0}};
        if (most.activity == HostActivity::WaitForCore) continue; // when exactly it waits is unknown
        for (const auto& [place, of_rank] : activities) {
            TimeNs time{0};
            for (const StepGap& gap : gaps)
                time += timeWithin(of_rank.of(most.activity), gap.time);
            if (time / count > most.time) most = {most.activity, place.first, place.second, time / count};
        }
        if (most.time > TimeNs{0}) out.activities.push_back(most);
    }
    std::ranges::stable_sort(out.activities, std::greater{}, &BetweenSteps::time);
    return out;
}

} // namespace bubblescope
