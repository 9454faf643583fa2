#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/period/step_period.h"
#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

// The causes of a period that is longer than its step: the time between steps, and occasional long steps.
namespace bubblescope {
namespace {

constexpr const char* kInSteps = "in_steps_ns";

TimeNs spent(const AnomalyInput& input, std::pair<int, Rank> place, HostActivity activity, TimeInterval gap) {
    const auto of_rank = input.slices.activities.find(place);
    return of_rank == input.slices.activities.end() ? TimeNs{0} : timeWithin(of_rank->second.of(activity), gap);
}

/// The replicas' timelines of each step number.
std::map<int, std::vector<std::size_t>> timelinesOf(const std::vector<StepTimeline>& steps) {
    std::map<int, std::vector<std::size_t>> of;
    for (std::size_t s = 0; s < steps.size(); ++s)
        of[steps[s].index].push_back(s);
    return of;
}

/// The part of a gap used by optimizers, according to ops or host activity. Optimizers are part of the step's work.
TimeNs optimizersIn(const AnomalyInput& input, const StepGap& gap, const std::vector<std::size_t>& timelines) {
    const std::vector<StepTimeline>& steps = input.run.steps;
    TimeNs longest{0};
    for (const std::size_t s : timelines) {
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            const TimeNs time = spent(input, {steps[s].replica, Rank{r}}, HostActivity::Optimizer, gap.time);
            const std::vector<TimelineOp>& list = steps[s].ranks[r];
            TimeNs ops{0};
            for (auto op = list.rbegin(); op != list.rend() && op->op.kind == OpKind::Optimizer; ++op)
                ops += std::max(TimeNs{0}, std::min(op->end, gap.time.end) - std::max(op->start, gap.time.start));
            longest = std::max({longest, time, ops});
        }
    }
    return longest;
}

Sentence nameOf(HostActivity activity) {
    return Sentence::term(hostActivityName(activity));
}

Sentence suggestionFor(std::optional<HostActivity> activity) {
    if (!activity) {
        return say("Check what that rank does between steps: data loading, logging, checkpoints, garbage collection. "
                   "Mark this work in the trace to see its name here.");
    }
    switch (*activity) {
    case HostActivity::DataLoading:
        return say("Load the next batch while the step runs: more loader workers, prefetching, faster storage.");
    case HostActivity::Evaluation: return say("Evaluate less often, on fewer samples, or in a separate job.");
    case HostActivity::Checkpoint: return say("Write checkpoints asynchronously, sharded over ranks, or less often.");
    case HostActivity::GarbageCollection:
        return say("Disable automatic garbage collection (gc.disable()), and collect on all ranks in the same step.");
    case HostActivity::Optimizer:
    case HostActivity::WaitForCore: break;
    }
    return say("Fuse the optimizer's kernels, or shard the optimizer over replicas.");
}

/// The time between steps due to one activity of one rank, or without a recorded reason.
struct Between {
    std::optional<HostActivity> activity;
    int replica = 0; ///< for an activity
    Rank rank;       ///< rank with the activity, or rank that starts the next step
    Cases cases;
    TimeNs in_steps{0};          ///< the part of these costs by which the next step is delayed
    std::vector<double> periods; ///< periods of the gaps with this activity
};

Anomaly describe(const AnomalyInput& input, const Between& of) {
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::TimeBetweenSteps;
    anomaly.rank = of.rank;
    const int replicas = of.activity ? static_cast<int>(input.selection.replicas()) : 1;
    if (replicas > 1) anomaly.replica = of.replica;
    input.setSeen(anomaly, of.cases);
    anomaly.severity = input.severityOf(anomaly.meanCost(), input.typicalStep());
    const double period = std::max(1.0, statistics::median(of.periods));
    const double share = static_cast<double>(anomaly.cost.count()) / period;
    anomaly.evidence = {
        {"between_ns", static_cast<double>(anomaly.cost.count())}, {"period_ns", period}, {"share", share}};
    if (of.in_steps > TimeNs{0}) anomaly.evidence.emplace_back(kInSteps, static_cast<double>(of.in_steps.count()));
    const Sentence who = nameRank(of.replica, of.rank, replicas);
    const std::string time = formatTime(anomaly.cost);
    const std::string whole = formatTime(TimeNs{static_cast<std::int64_t>(period)});
    anomaly.message = of.activity ? say("{} on {} costs {}, {:.1f} % of the {} from one step's start to the next.",
                                        nameOf(*of.activity), who, time, 100 * share, whole)
                                  : say("no op runs for {} between steps, {:.1f} % of the {} from one step's start to "
                                        "the next; {} begins the next step, and the trace shows no cause for the wait.",
                                        time, 100 * share, whole, who);
    anomaly.suggestion = suggestionFor(of.activity);
    return anomaly;
}

/// One activity in a step: the rank on which it takes longest, and the time that the step would save without it.
struct Within {
    Rank rank;
    TimeNs cost{0};
};

Within costWithin(const AnomalyInput& input, std::size_t s, HostActivity activity) {
    const StepTimeline& step = input.run.steps[s];
    Within within;
    TimeNs most{0};
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const TimeNs time = spent(input, {step.replica, Rank{r}}, activity, {step.begin, step.end});
        if (time > most) within.rank = Rank{r};
        most = std::max(most, time);
    }
    if (input.fraction(most, s) < input.limits.least_cost) return within;
    StepCosts costs(step, input.knownOf(s));
    within.cost = std::max(TimeNs{0}, costs.savedByHosts([&](Rank rank, TimeInterval time) {
        return spent(input, {step.replica, rank}, activity, time);
    }));
    return within;
}

} // namespace

void findTimeBetweenSteps(const AnomalyInput& input, Anomalies& found) {
    const std::vector<StepGap> gaps = gapsBetween(input.run.steps, input.selection);
    if (gaps.empty()) return;
    TimeNs told{0}; // the exchange of gradients also counts as between steps
    for (const Anomaly& anomaly : found) {
        if (anomaly.kind == AnomalyKind::GradientExchange) told += anomaly.meanCost();
    }
    std::map<std::pair<HostActivity, std::pair<int, Rank>>, Between> named;
    Between unnamed;
    std::map<Rank, std::size_t> begins; // number of gaps after which each rank begins the next step
    const auto timelines = timelinesOf(input.run.steps);
    const auto add = [&named](HostActivity activity, std::pair<int, Rank> place, const StepGap& gap,
                              TimeNs cost) -> Between& {
        Between& between = named[{activity, place}];
        between.activity = activity;
        std::tie(between.replica, between.rank) = place;
        between.cases.add(gap.timeline, cost);
        between.periods.push_back(static_cast<double>(gap.period.count()));
        return between;
    };
    for (const StepGap& gap : gaps) {
        const TimeNs optimizers = optimizersIn(input, gap, timelines.at(input.run.steps[gap.timeline].index));
        TimeNs most{0}; // host activities, which ranks run in parallel
        for (std::size_t a = 0; a < kHostActivityCount; ++a) {
            const auto activity = static_cast<HostActivity>(a);
            if (activity == HostActivity::Optimizer || activity == HostActivity::WaitForCore) continue;
            for (const auto& [place, of_rank] : input.slices.activities) {
                const TimeNs time = timeWithin(of_rank.of(activity), gap.time);
                if (time <= TimeNs{0}) continue;
                add(activity, place, gap, time);
                most = std::max(most, time);
            }
            for (const std::size_t s : timelines.at(gap.next_index)) {
                const Within within = costWithin(input, s, activity);
                if (within.cost <= TimeNs{0}) continue;
                const std::pair place(input.run.steps[s].replica, within.rank);
                add(activity, place, gap, within.cost).in_steps += within.cost;
            }
        }
        const TimeNs left = gap.time.duration() - optimizers - most - told;
        const double share = static_cast<double>(left.count()) / std::max(1.0, static_cast<double>(gap.period.count()));
        if (share < input.limits.between_steps || left <= input.clocks.bound()) continue;
        ++begins[gap.next];
        unnamed.cases.add(gap.timeline, left);
        unnamed.periods.push_back(static_cast<double>(gap.period.count()));
    }
    const auto tell = [&](const Between& between) {
        const Anomaly anomaly = describe(input, between);
        if (input.worthReporting(anomaly.meanCost(), input.typicalStep())) found.push_back(anomaly);
    };
    // Among ranks with the same activity, report the one that takes longest, because the others wait for it.
    std::map<HostActivity, const Between*> longest;
    std::map<HostActivity, TimeNs> totals;
    for (const auto& [key, between] : named) {
        const TimeNs total = between.cases.total();
        if (total <= totals[key.first]) continue;
        totals[key.first] = total;
        longest[key.first] = &between;
    }
    for (const auto& [activity, between] : longest)
        tell(*between);
    if (unnamed.cases.empty()) return;
    unnamed.rank = std::ranges::max_element(begins, {}, [](const auto& entry) { return entry.second; })->first;
    tell(unnamed);
}

namespace {

/// The excess of `of_rank` in these steps over its median in the steps that count.
template <class OfRank>
TimeNs growth(const AnomalyInput& input, const std::vector<std::size_t>& timelines, std::size_t rank,
              const OfRank& of_rank) {
    std::vector<double> usual;
    for (std::size_t s = 0; s < input.analyses.size(); ++s) {
        if (input.selection.takes(s) && rank < input.analyses[s].ranks.size())
            usual.push_back(static_cast<double>(of_rank(input.analyses[s].ranks[rank]).count()));
    }
    const TimeNs median{static_cast<std::int64_t>(statistics::median(std::move(usual)))};
    TimeNs more{0};
    for (const std::size_t s : timelines) {
        if (rank < input.analyses[s].ranks.size()) more += of_rank(input.analyses[s].ranks[rank]) - median;
    }
    return more;
}

/// The cost within steps of a finding about the time between them.
TimeNs inSteps(const Anomaly& anomaly) {
    const auto of = std::ranges::find(anomaly.evidence, kInSteps, &std::pair<std::string, double>::first);
    return of == anomaly.evidence.end() ? TimeNs{0} : TimeNs{static_cast<std::int64_t>(of->second)};
}

/// The rank responsible for half of the extra time of long steps.
struct LongStepCause {
    std::optional<Rank> rank;
    Sentence what = say("no rank computes for longer or starts late in these steps");
};

LongStepCause causeOf(const AnomalyInput& input, const std::vector<std::size_t>& timelines, TimeNs longer) {
    const std::size_t ranks = input.analyses[timelines.front()].ranks.size();
    LongStepCause cause;
    TimeNs most{0};
    for (std::size_t r = 0; r < ranks; ++r) {
        const TimeNs more = growth(input, timelines, r, [](const RankAccount& rank) { return rank.busy; });
        if (more <= most || 2 * more < longer) continue;
        most = more;
        cause = {Rank{r}, say("rank {} computes for longer in these steps", r)};
    }
    // Ranks after one that starts late wait for it.
    for (std::size_t r = 0; r < ranks && !cause.rank; ++r) {
        const TimeNs more = growth(input, timelines, r, [](const RankAccount& rank) {
            return rank.executed[static_cast<std::size_t>(Position::BeforeWarmup)];
        });
        if (2 * more >= longer) cause = {Rank{r}, say("rank {} starts late in these steps", r)};
    }
    return cause;
}

} // namespace

void findLongSteps(const AnomalyInput& input, Anomalies& found) {
    const std::vector<std::size_t> places = longSteps(input.selection);
    if (places.size() < 2) return; // one could be chance
    const auto& all = input.selection.steps();
    const TimeNs typical = input.selection.stepTime();
    Cases cases;
    TimeNs longer{0};
    for (const std::size_t place : places) {
        cases.add(all[place].longest, all[place].time - typical);
        longer += all[place].time - typical;
    }
    // Checks whether findings in these steps explain half of the extra time.
    TimeNs told{0};
    for (const Anomaly& anomaly : found) {
        const bool now_and_then = anomaly.seen.steps < anomaly.seen.of_steps;
        if (!now_and_then) continue;
        told += anomaly.kind == AnomalyKind::TimeBetweenSteps ? inSteps(anomaly) : anomaly.seen.total;
    }
    if (2 * told >= longer) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::LongSteps;
    std::vector<std::size_t> timelines;
    std::vector<int> numbers;
    for (const std::size_t place : places) {
        timelines.push_back(all[place].longest);
        numbers.push_back(all[place].index);
    }
    const LongStepCause cause = causeOf(input, timelines, longer);
    anomaly.rank = cause.rank;
    input.setSeen(anomaly, cases);
    if (!input.worthReporting(anomaly.meanCost(), input.typicalStep())) return;
    anomaly.severity = input.severityOf(anomaly.meanCost(), input.typicalStep());
    anomaly.step = all[places.front()].index;
    anomaly.evidence = {{"long_steps", static_cast<double>(places.size())},
                        {"extra_time_ns", static_cast<double>(longer.count())},
                        {"typical_ns", static_cast<double>(typical.count())}};
    const std::string time = formatTime(anomaly.cost);
    const auto every = rhythmOf(numbers);
    anomaly.message =
        every ? say("one step in {} takes {} longer than the typical step (median of {}); {}.", *every, time,
                    places.size(), cause.what)
              : say("{} steps take {} longer than the typical step (median); {}.", places.size(), time, cause.what);
    anomaly.suggestion = say("Check what happens in these steps: garbage collection, checkpoints, evaluation, other "
                             "processes on the hosts.");
    found.push_back(std::move(anomaly));
}

} // namespace bubblescope
