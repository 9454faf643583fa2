#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/anomalies/microbatch_levels.h"
#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

// Micro-batches whose forward and backward both take long, on all ranks, because their data is longer. The cost is the
// difference to a step in which every micro-batch of all replicas contains the same work; replicas wait for each other
// at the step's end.
namespace bubblescope {
namespace {

/// The cost of one step number over its replicas, and the slowest of them.
struct NumberedCost {
    TimeNs cost{0};
    std::size_t slowest = 0; ///< index into the run's steps
};

/// Levels, indexed like the run's steps.
using Levels = std::vector<std::vector<double>>;

NumberedCost costOfNumber(const AnomalyInput& input, const std::vector<std::size_t>& rows, const Levels& levels) {
    double mean = 0;
    double count = 0;
    for (const std::size_t s : rows) {
        for (const double level : levels[s]) {
            mean += level;
            count += 1;
        }
    }
    mean /= std::max(1.0, count);
    NumberedCost out;
    TimeNs now{0};
    TimeNs balanced{0};
    for (const std::size_t s : rows) {
        const std::vector<double>& of_step = levels[s];
        const TimeNs saved =
            StepCosts(input.run.steps[s], input.knownOf(s)).savedByOps([&](Rank, const TimelineOp& op) {
                if (op.op.microbatch.index() >= of_step.size()) return op.duration();
                const double share = mean / of_step[op.op.microbatch.index()];
                return TimeNs{std::llround(static_cast<double>(op.duration().count()) * share)};
            });
        balanced = std::max(balanced, input.wall(s) - saved);
        if (input.wall(s) <= now) continue;
        now = input.wall(s);
        out.slowest = s;
    }
    out.cost = now - balanced;
    return out;
}

/// Probability of a correlation at least this large by chance (Fisher).
double chanceOf(double correlation, std::size_t count) {
    const double bounded = std::min(correlation, 1 - 1e-12);
    return statistics::normalTail(std::atanh(bounded) *
                                  std::sqrt(static_cast<double>(std::max<std::size_t>(count, 4) - 3)));
}

} // namespace

Levels findDataImbalance(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    const std::vector<StepTimeline>& steps = input.run.steps;
    const MicrobatchTies ties = microbatchTies(steps, samples);
    if (ties.count == 0 || ties.spread < input.limits.data_spread) return {};
    const double tie = std::min(ties.forward_backward, ties.ranks);
    const double chance = chanceOf(tie, ties.count) * static_cast<double>(steps.front().pp);
    if (tie < input.limits.data_correlation || chance > input.limits.chance) return {};

    Levels levels(steps.size());
    std::map<int, std::vector<std::size_t>> numbered;
    const auto rows = samples.rows();
    for (std::size_t begin = 0; begin < rows.size();) {
        const std::size_t s = rows[begin].step;
        std::size_t end = begin;
        while (end < rows.size() && rows[end].step == s)
            ++end;
        levels[s] = microbatchLevels(steps[s], samples, rows.subspan(begin, end - begin));
        numbered[steps[s].index].push_back(s);
        begin = end;
    }
    // Replaying each step of a long run would take too long: an evenly spread selection is replayed.
    constexpr std::size_t kMostOps = 400'000;
    const std::size_t apart = 1 + samples.size() / kMostOps;
    Cases cases;
    NumberedCost worst;
    std::size_t place = 0;
    std::vector<TimeNs> costs;
    for (const auto& [number, of_number] : numbered) {
        if (place++ % apart != 0) continue;
        const NumberedCost cost = costOfNumber(input, of_number, levels);
        if (cost.cost > worst.cost) worst = cost;
        if (input.worthReporting(cost.cost, cost.slowest)) cases.add(cost.slowest, cost.cost);
    }
    if (cases.empty()) return levels; // no finding, but it may still explain slow ops
    const StepTimeline& shown = steps[worst.slowest];
    const auto longest = std::ranges::max_element(levels[worst.slowest]);
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::DataImbalance;
    input.setSeen(anomaly, cases);
    if (!input.worthReporting(anomaly.meanCost(), input.typicalStep())) return levels;
    anomaly.severity = input.severityOf(anomaly.meanCost(), input.typicalStep());
    anomaly.step = shown.index;
    if (samples.replicas() > 1) anomaly.replica = shown.replica;
    anomaly.when = TimeInterval{shown.begin, shown.end};
    anomaly.evidence = {{"forward_backward_correlation", ties.forward_backward},
                        {"correlation_over_ranks", ties.ranks},
                        {"relative_spread", ties.spread},
                        {"longest_ratio", *longest},
                        {"longest_microbatch", static_cast<double>(longest - levels[worst.slowest].begin())},
                        {"p_value", chance}};
    const Sentence where = samples.replicas() > 1 ? say("all {} replicas", samples.replicas()) : say("all ranks");
    anomaly.message = say("micro-batches have unequal lengths: their forward and backward times correlate (r = {:.2f}) "
                          "on {}, and in step {} the longest, micro-batch {}, takes {:.2f} × the usual time; with "
                          "equal work a step would be {} shorter ({:.1f} %).",
                          ties.forward_backward, where, shown.index, longest - levels[worst.slowest].begin(), *longest,
                          formatTime(anomaly.cost), 100 * input.fraction(anomaly.cost, worst.slowest));
    anomaly.suggestion = say("Balance the input: cut or pack sequences so that all micro-batches of all replicas hold "
                             "equal work. Attention time grows with the square of the sequence length.");
    found.push_back(std::move(anomaly));
    return levels;
}

} // namespace bubblescope
