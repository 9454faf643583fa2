#include "core/diagnose/anomalies/input.h"
#include "core/diagnose/anomalies/op_samples.h"
#include "core/diagnose/anomalies/step_costs.h"
#include "core/diagnose/statistics/robust.h"
#include "core/diagnose/statistics/tests.h"

#include <fmt/format.h>

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
    std::vector<const OpSample*> ops; ///< of one step and rank
    double deviations = 0;            ///< of the worst
    double chance = 1;                ///< of the worst
};

/// A rank that is slow from some step on was told already: its later ops are.
bool toldBefore(const Anomalies& found, const StepTimeline& step, Rank rank) {
    return std::ranges::any_of(found, [&](const Anomaly& a) {
        return a.kind == AnomalyKind::Straggler && a.rank == rank && a.replica.value_or(step.replica) == step.replica &&
               a.step && *a.step <= step.index;
    });
}

Anomaly describe(const AnomalyInput& input, const OpSamples& samples, std::size_t s, Rank rank, const SlowOps& slow,
                 TimeNs cost) {
    const StepTimeline& step = input.run.steps[s];
    const OpSample& worst = **std::ranges::max_element(
        slow.ops, {}, [&](const OpSample* op) { return op->duration - samples.median(op->group); });
    const TimeNs usual{static_cast<std::int64_t>(samples.median(worst.group))};
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::SlowOp;
    anomaly.severity = input.severityOf(cost, s);
    anomaly.rank = rank;
    if (samples.replicas() > 1) anomaly.replica = step.replica;
    anomaly.chunk = worst.op->op.chunk;
    anomaly.op = worst.op->op;
    anomaly.step = step.index;
    anomaly.when = TimeInterval{worst.op->start, worst.op->end};
    anomaly.cost = cost;
    const double ratio = worst.duration / std::max(1.0, samples.median(worst.group));
    anomaly.evidence = {{"duration_ns", worst.duration},
                        {"usual_ns", static_cast<double>(usual.count())},
                        {"ratio", ratio},
                        {"deviations", slow.deviations},
                        {"chance", slow.chance},
                        {"ops", static_cast<double>(slow.ops.size())}};
    const std::string more =
        slow.ops.size() == 1 ? std::string{} : fmt::format(" and {} more ops there were slow too", slow.ops.size() - 1);
    anomaly.message =
        fmt::format("in step {}, {} of rank {} took {}, {:.2f} times its usual {}{}; the step would be {} "
                    "shorter ({:.1f} %) without that.",
                    step.index, opName(worst.op->op), rank.value, formatTime(worst.op->duration()), ratio,
                    formatTime(usual), more, formatTime(cost), 100 * input.share(cost, s));
    anomaly.suggestion = "Once is chance (garbage collection, a page fault, another process); if it comes back, look "
                         "at what else ran on that host at that time.";
    return anomaly;
}

/// What every process pays for once, lazy initialisation, autotuning, cold caches, makes the first recorded step slow
/// on most ranks: worth knowing, and nobody's fault. Takes those ops out of `by_place`.
void tellWarmUp(const AnomalyInput& input, std::map<std::pair<std::size_t, Rank>, SlowOps>& by_place,
                Anomalies& found) {
    const auto of_first = [](const auto& entry) { return entry.first.first == 0; };
    const auto ranks = static_cast<std::size_t>(std::ranges::count_if(by_place, of_first));
    if (input.run.steps.size() < 2 || 2 * ranks <= input.run.steps.front().ranks.size()) return;
    std::size_t ops = 0;
    for (const auto& [place, slow] : by_place)
        ops += place.first == 0 ? slow.ops.size() : 0;
    std::erase_if(by_place, of_first);
    const TimeNs longer = input.wall(0) - input.wall(input.typical_step);
    if (!input.worthTelling(longer, 0)) return;
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::SlowOp;
    anomaly.severity = Severity::Notice;
    anomaly.step = input.run.steps.front().index;
    anomaly.evidence = {{"ops", static_cast<double>(ops)},
                        {"ranks", static_cast<double>(ranks)},
                        {"step_longer_ns", static_cast<double>(longer.count())}};
    anomaly.message =
        fmt::format("in step {}, the first that was recorded, {} ops on {} ranks were slow; the step took "
                    "{} longer than the typical one.",
                    input.run.steps.front().index, ops, ranks, formatTime(longer));
    anomaly.suggestion = "Warm-up, as it seems: record some steps later if it is in the way.";
    found.push_back(std::move(anomaly));
}

} // namespace

void findSlowOps(const AnomalyInput& input, Anomalies& found) {
    const OpSamples samples(input.run.steps);
    std::vector<double> residuals;
    for (const OpSample& sample : samples.samples()) {
        const double usual = samples.median(sample.group);
        if (usual > 0 && samples.count(sample.group) >= kFewestLikes) residuals.push_back(sample.duration / usual - 1);
    }
    if (residuals.empty()) return;
    // A spread of nothing (simulated, paced) would make everything an outlier: a thousandth is below any use.
    const double sigma = std::max(statistics::robustSigma(residuals), 1e-3);

    std::map<std::pair<std::size_t, Rank>, SlowOps> by_place;
    for (const OpSample& sample : samples.samples()) {
        const double usual = samples.median(sample.group);
        if (usual <= 0 || samples.count(sample.group) < kFewestLikes) continue;
        const double deviations = (sample.duration / usual - 1) / sigma;
        if (deviations < input.limits.op_deviations) continue;
        // Bonferroni: Holm's first step, and the rest are no stricter.
        const double chance = statistics::normalTail(deviations) * static_cast<double>(residuals.size());
        if (chance > input.limits.chance || toldBefore(found, input.run.steps[sample.step], sample.rank)) continue;
        SlowOps& slow = by_place[{sample.step, sample.rank}];
        slow.ops.push_back(&sample);
        if (deviations > slow.deviations) {
            slow.deviations = deviations;
            slow.chance = chance;
        }
    }
    tellWarmUp(input, by_place, found);
    std::optional<std::pair<std::size_t, StepCosts>> costs; // of a step: by_place goes step after step
    for (const auto& [place, slow] : by_place) {
        const auto& [s, rank] = place;
        double excess = 0;
        for (const OpSample* sample : slow.ops)
            excess += sample->duration - samples.median(sample->group);
        if (!input.worthTelling(TimeNs{static_cast<std::int64_t>(excess)}, s)) continue;
        if (!costs || costs->first != s) costs.emplace(s, StepCosts(input.run.steps[s], input.known));
        std::map<const TimelineOp*, TimeNs> usual;
        for (const OpSample* sample : slow.ops)
            usual[sample->op] = TimeNs{static_cast<std::int64_t>(samples.median(sample->group))};
        const TimeNs cost = costs->second.savedByOps([&](Rank, const TimelineOp& op) {
            const auto known = usual.find(&op);
            return known == usual.end() ? op.duration() : known->second;
        });
        if (input.worthTelling(cost, s)) found.push_back(describe(input, samples, s, rank, slow, cost));
    }
}

} // namespace bubblescope
