#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

// Single ops against their likes. Ops of one group spread alike, so the spread is taken over all of them, relative to
// their groups' medians: a group alone may be small.
namespace bubblescope {
namespace {

/// Groups of fewer ops say nothing about what is usual.
constexpr std::size_t kFewestLikes = 4;

struct SlowOps {
    std::vector<std::size_t> samples; ///< of one row
    double deviations = 0;            ///< of the worst
    double chance = 1;                ///< of the worst
};

/// By row: step after step, in each rank after rank.
using SlowByRow = std::map<std::size_t, SlowOps>;

/// A rank that is slow from some step on was told already: its later ops are.
bool toldBefore(const Anomalies& found, const StepTimeline& step, Rank rank) {
    return std::ranges::any_of(found, [&](const Anomaly& a) {
        return a.kind == AnomalyKind::Straggler && a.rank == rank && a.replica.value_or(step.replica) == step.replica &&
               a.step && *a.step <= step.index;
    });
}

Anomaly describe(const AnomalyInput& input, const OpSamples& samples, const OpRow& row, const SlowOps& slow,
                 TimeNs cost) {
    const StepTimeline& step = input.run.steps[row.step];
    const auto usualOf = [&](std::size_t sample) { return samples.median(samples.group(sample)); };
    const std::size_t slowest = *std::ranges::max_element(
        slow.samples, {}, [&](std::size_t sample) { return samples.duration(sample) - usualOf(sample); });
    const TimelineOp& worst = sampledOp(input.run.steps, row, slowest);
    const TimeNs usual{static_cast<std::int64_t>(usualOf(slowest))};
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::SlowOp;
    anomaly.severity = input.severityOf(cost, row.step);
    anomaly.rank = row.rank;
    if (samples.replicas() > 1) anomaly.replica = step.replica;
    anomaly.chunk = worst.op.chunk;
    anomaly.op = worst.op;
    anomaly.step = step.index;
    anomaly.when = TimeInterval{worst.start, worst.end};
    anomaly.cost = cost;
    const double ratio = samples.duration(slowest) / std::max(1.0, usualOf(slowest));
    anomaly.evidence = {{"duration_ns", samples.duration(slowest)},
                        {"usual_ns", static_cast<double>(usual.count())},
                        {"ratio", ratio},
                        {"deviations", slow.deviations},
                        {"chance", slow.chance},
                        {"ops", static_cast<double>(slow.samples.size())}};
    // The halves of a pair are slow together, and which of them it was cannot be told.
    std::string name = opName(worst.op);
    std::size_t others = 0;
    for (const std::size_t sample : slow.samples) {
        const TimelineOp& op = sampledOp(input.run.steps, row, sample);
        if (&op == &worst) continue;
        const bool of_pair = worst.op.overlapped && op.op.overlapped && op.start == worst.start;
        if (of_pair) name += "+" + opName(op.op);
        others += of_pair ? 0 : 1;
    }
    const Sentence more = others == 0   ? Sentence()
                          : others == 1 ? say(" and another op there was slow too")
                                        : say(" and {} more ops there were slow too", others);
    anomaly.message = say("in step {}, {} of rank {} took {}, {:.2f} times its usual {}{}; the step would be {} "
                          "shorter ({:.1f} %) without that.",
                          step.index, name, row.rank.value, formatTime(worst.duration()), ratio, formatTime(usual),
                          more, formatTime(cost), 100 * input.fraction(cost, row.step));
    anomaly.suggestion =
        say("Once is chance (garbage collection, a page fault, another process); if it comes back, look "
            "at what else ran on that host at that time.");
    return anomaly;
}

/// What every process pays for once, lazy initialisation, autotuning, cold caches, makes the first recorded step slow
/// on most ranks: worth knowing, and nobody's fault. Takes those ops out of `by_row`.
void tellWarmUp(const AnomalyInput& input, const OpSamples& samples, SlowByRow& by_row, Anomalies& found) {
    const auto of_first = [&](const auto& entry) { return samples.rows()[entry.first].step == 0; };
    const auto ranks = static_cast<std::size_t>(std::ranges::count_if(by_row, of_first));
    if (input.run.steps.size() < 2 || 2 * ranks <= input.run.steps.front().ranks.size()) return;
    std::size_t ops = 0;
    for (const auto& entry : by_row)
        ops += of_first(entry) ? entry.second.samples.size() : 0;
    std::erase_if(by_row, of_first);
    const TimeNs longer = input.wall(0) - input.wall(input.typicalStep());
    if (!input.worthReporting(longer, 0)) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::SlowOp;
    anomaly.severity = Severity::Notice;
    anomaly.step = input.run.steps.front().index;
    anomaly.evidence = {{"ops", static_cast<double>(ops)},
                        {"ranks", static_cast<double>(ranks)},
                        {"step_longer_ns", static_cast<double>(longer.count())}};
    anomaly.message = say("in step {}, the first that was recorded, {} ops on {} ranks were slow; the step took "
                          "{} longer than the typical one.",
                          input.run.steps.front().index, ops, ranks, formatTime(longer));
    anomaly.suggestion = say("Warm-up, as it seems: record some steps later if it is in the way.");
    found.push_back(std::move(anomaly));
}

} // namespace

void findSlowOps(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    std::vector<double> usual(samples.groupCount(), 0); // of groups that say what it is
    for (std::size_t g = 0; g < usual.size(); ++g)
        usual[g] = samples.count(g) >= kFewestLikes ? samples.median(g) : 0;
    std::vector<double> residuals;
    residuals.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double own = usual[samples.group(i)];
        if (own > 0) residuals.push_back(samples.duration(i) / own - 1);
    }
    if (residuals.empty()) return;
    // A spread of nothing (simulated, paced) would make everything an outlier: a thousandth is below any use.
    const double sigma = std::max(statistics::robustSigma(residuals), 1e-3);

    SlowByRow by_row;
    auto residual = residuals.begin();
    for (std::size_t r = 0; r < samples.rows().size(); ++r) {
        const OpRow& row = samples.rows()[r];
        for (std::size_t i = row.begin; i < row.end; ++i) {
            if (usual[samples.group(i)] <= 0) continue;
            const double deviations = *residual++ / sigma;
            if (deviations < input.limits.op_deviations) continue;
            // Bonferroni: Holm's first step, and the rest are no stricter.
            const double chance = statistics::normalTail(deviations) * static_cast<double>(residuals.size());
            if (chance > input.limits.chance || toldBefore(found, input.run.steps[row.step], row.rank)) continue;
            SlowOps& slow = by_row[r];
            slow.samples.push_back(i);
            if (deviations > slow.deviations) {
                slow.deviations = deviations;
                slow.chance = chance;
            }
        }
    }
    tellWarmUp(input, samples, by_row, found);
    std::optional<std::pair<std::size_t, StepCosts>> costs; // of a step: rows go step after step
    for (const auto& [r, slow] : by_row) {
        const OpRow& row = samples.rows()[r];
        double excess = 0;
        for (const std::size_t sample : slow.samples)
            excess += samples.duration(sample) - usual[samples.group(sample)];
        if (!input.worthReporting(TimeNs{static_cast<std::int64_t>(excess)}, row.step)) continue;
        if (!costs || costs->first != row.step)
            costs.emplace(row.step, StepCosts(input.run.steps[row.step], input.knownOf(row.step)));
        std::map<const TimelineOp*, TimeNs> usual_of;
        for (const std::size_t sample : slow.samples)
            usual_of[&sampledOp(input.run.steps, row, sample)] =
                TimeNs{static_cast<std::int64_t>(usual[samples.group(sample)])};
        const TimeNs cost = costs->second.savedByOps([&](Rank, const TimelineOp& op) {
            const auto known = usual_of.find(&op);
            return known == usual_of.end() ? op.duration() : known->second;
        });
        if (input.worthReporting(cost, row.step)) found.push_back(describe(input, samples, row, slow, cost));
    }
}

} // namespace bubblescope
