#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

// Compares single ops with similar ones. Ops of different groups vary equally, so the spread is computed over all
// groups, relative to their medians, because a single group may be small.
namespace bubblescope {
namespace {

/// Smaller groups do not reveal the usual time.
constexpr std::size_t kFewestLikes = 4;

/// The expected time of each sample: the median of similar ops, plus the time that its micro-batch adds at its place.
/// With data twice as long, attention takes four times as long and other work twice as long, so the added time differs
/// between places.
class UsualTimes {
public:
    /// `levels`, by the run's steps and micro-batch, may be empty.
    UsualTimes(const std::vector<StepTimeline>& steps, const OpSamples& samples,
               const std::vector<std::vector<double>>& levels)
        : samples_(samples) {
        if (levels.empty()) return;
        levels_.reserve(samples.size());
        for (const OpRow& row : samples.rows()) {
            const std::vector<double>& of_step = levels[row.step];
            for (const TimelineOp& op : steps[row.step].ranks[row.rank.index()]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                const std::size_t microbatch = op.op.microbatch.index();
                levels_.push_back(static_cast<float>(microbatch < of_step.size() ? of_step[microbatch] : 1));
            }
        }
        fitSlopes();
    }
    /// Number of samples whose usual time is known.
    [[nodiscard]] std::size_t known() const {
        std::size_t known = 0;
        for (std::size_t group = 0; group < samples_.groupCount(); ++group)
            known += isKnown(group) ? samples_.count(group) : 0;
        return known;
    }
    /// ns; 0 if the usual time is unknown.
    [[nodiscard]] double of(std::size_t sample) const {
        const std::size_t group = samples_.group(sample);
        if (!isKnown(group)) return 0;
        if (levels_.empty()) return samples_.median(group);
        const double slope = slopes_[samples_.placeOf(group)];
        return samples_.median(group) * std::max(0.1, 1 + slope * (static_cast<double>(levels_[sample]) - 1));
    }

private:
    [[nodiscard]] bool isKnown(std::size_t group) const {
        return samples_.count(group) >= kFewestLikes && samples_.median(group) > 0;
    }
    /// Finds, per place, the median ratio of an op's excess to that of its micro-batch.
    void fitSlopes() {
        constexpr double kTelling = 0.1; // levels closer to the usual one are noise
        std::vector<std::vector<double>> of_place;
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            const std::size_t place = samples_.placeOf(samples_.group(i));
            if (place >= of_place.size()) of_place.resize(place + 1);
            const double longer = static_cast<double>(levels_[i]) - 1;
            const double usual = samples_.median(samples_.group(i));
            if (usual > 0 && std::abs(longer) >= kTelling)
                of_place[place].push_back((samples_.duration(i) / usual - 1) / longer);
        }
        for (std::vector<double>& slopes : of_place)
            slopes_.push_back(slopes.size() < kFewestLikes ? 1 : statistics::medianInPlace(slopes));
    }

    const OpSamples& samples_;
    std::vector<float> levels_;  ///< per sample
    std::vector<double> slopes_; ///< per place
};

struct SlowOps {
    std::vector<std::size_t> samples; ///< in one row
    double deviations = 0;            ///< of the worst one
    double chance = 1;                ///< of the worst one

    void add(std::size_t sample, double its_deviations, double its_chance) {
        samples.push_back(sample);
        takeWorse(its_deviations, its_chance);
    }
    /// Appends slow ops of the same row, after these.
    void append(const SlowOps& others) {
        samples.insert(samples.end(), others.samples.begin(), others.samples.end());
        takeWorse(others.deviations, others.chance);
    }

private:
    void takeWorse(double its_deviations, double its_chance) {
        if (its_deviations <= deviations) return;
        deviations = its_deviations;
        chance = its_chance;
    }
};

/// By row: ordered by step, then rank.
using SlowByRow = std::map<std::size_t, SlowOps>;

/// True if the rank was already reported as slow from some step on. Its later ops belong to that finding.
bool toldBefore(const Anomalies& found, const StepTimeline& step, Rank rank) {
    return std::ranges::any_of(found, [&](const Anomaly& a) {
        return a.kind == AnomalyKind::Straggler && a.rank == rank && a.replica.value_or(step.replica) == step.replica &&
               a.step && *a.step <= step.index;
    });
}

/// All rows with slow ops of one rank of a replica.
struct SlowPlace {
    int replica = 0;
    Rank rank;
    Cases cases;
    std::size_t worst_row = 0; ///< the row with the highest cost for its step
    TimeNs worst_cost{0};
    std::vector<OpKind> kinds; ///< kinds of the slow ops, each once
    TimeNs total{0};           ///< over its steps

    void add(const OpSamples& samples, std::size_t row, const SlowOps& slow, TimeNs cost) {
        cases.add(samples.rows()[row].step, cost, static_cast<std::int64_t>(slow.samples.size()));
        total += cost;
        for (const std::size_t sample : slow.samples) {
            const auto kind = static_cast<OpKind>(samples.kindOf(sample) % 4);
            if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
        }
        if (cost <= worst_cost) return;
        worst_cost = cost;
        worst_row = row;
    }
};

Sentence nameOps(const std::vector<OpKind>& kinds) {
    if (kinds.size() == 1) {
        switch (kinds.front()) {
        case OpKind::Forward: return say("forward ops");
        case OpKind::Backward: return say("backward ops");
        case OpKind::BackwardInput: return say("input gradients");
        case OpKind::BackwardWeight: return say("weight gradients");
        case OpKind::Optimizer: break;
        }
    }
    return say("ops");
}

/// The op reported for a row: the worst, or the only one.
struct WorstOp {
    Anomaly anomaly; ///< without texts
    TimeNs usual{0};
    double ratio = 1;
    std::string name;       ///< "B3.0", or "F3.0+B1.1" for a pair
    std::size_t others = 0; ///< number of other slow ops in the row
};

WorstOp worstOf(const AnomalyInput& input, const OpSamples& samples, const OpRow& row, const SlowOps& slow,
                const UsualTimes& usual) {
    const StepTimeline& step = input.run.steps[row.step];
    const std::size_t slowest = *std::ranges::max_element(
        slow.samples, {}, [&](std::size_t sample) { return samples.duration(sample) - usual.of(sample); });
    const TimelineOp& worst = sampledOp(input.run.steps, row, slowest);
    WorstOp out;
    out.usual = TimeNs{static_cast<std::int64_t>(usual.of(slowest))};
    out.ratio = samples.duration(slowest) / std::max(1.0, usual.of(slowest));
    out.anomaly.kind = AnomalyKind::SlowOp;
    out.anomaly.rank = row.rank;
    if (samples.replicas() > 1) out.anomaly.replica = step.replica;
    out.anomaly.chunk = worst.op.chunk;
    out.anomaly.op = worst.op;
    out.anomaly.step = step.index;
    out.anomaly.when = TimeInterval{worst.start, worst.end};
    out.anomaly.evidence = {{"duration_ns", samples.duration(slowest)},
                            {"usual_ns", static_cast<double>(out.usual.count())},
                            {"ratio", out.ratio},
                            {"standard_deviations", slow.deviations},
                            {"p_value", slow.chance},
                            {"ops", static_cast<double>(slow.samples.size())}};
    // The halves of a pair are slow together; which of them caused it is unknown.
    out.name = opName(worst.op);
    for (const std::size_t sample : slow.samples) {
        const TimelineOp& op = sampledOp(input.run.steps, row, sample);
        if (&op == &worst) continue;
        const bool of_pair = worst.op.overlapped && op.op.overlapped && op.start == worst.start;
        if (of_pair) out.name += "+" + opName(op.op);
        out.others += of_pair ? 0 : 1;
    }
    return out;
}

/// Findings are serious if they are expensive for the run. An op that is rarely slow, but expensive for a step, is
/// still reported.
Severity severityOf(const AnomalyInput& input, const Anomaly& anomaly, std::size_t step) {
    if (input.fraction(anomaly.meanCost(), step) >= input.limits.serious_cost) return Severity::Serious;
    return anomaly.seen.steps > 1 || input.fraction(anomaly.cost, step) >= input.limits.serious_cost ? Severity::Warning
                                                                                                     : Severity::Notice;
}

Sentence lookAtHost() {
    return say("Check what else runs on that host at that time: garbage collection, page faults, other processes, "
               "clock speed.");
}

Anomaly describe(const AnomalyInput& input, const OpSamples& samples, const UsualTimes& usual, const SlowByRow& by_row,
                 const SlowPlace& place) {
    const OpRow& row = samples.rows()[place.worst_row];
    WorstOp worst = worstOf(input, samples, row, by_row.at(place.worst_row), usual);
    Anomaly& anomaly = worst.anomaly;
    input.setSeen(anomaly, place.cases);
    anomaly.severity = severityOf(input, anomaly, row.step);
    const std::string took = formatTime(anomaly.when->end - anomaly.when->start);
    const Sentence who = nameRank(place.replica, row.rank, samples.replicas());
    const double share = 100 * input.fraction(place.worst_cost, row.step);
    if (anomaly.seen.steps <= 1) {
        const Sentence more = worst.others == 0   ? Sentence()
                              : worst.others == 1 ? say(" (with 1 other slow op there)")
                                                  : say(" (with {} other slow ops there)", worst.others);
        anomaly.message = say("in step {}, {} of {} took {}, {:.2f} × its usual {}{}; without that the step would be "
                              "{} shorter ({:.1f} %).",
                              *anomaly.step, worst.name, who, took, worst.ratio, formatTime(worst.usual), more,
                              formatTime(anomaly.cost), share);
        anomaly.suggestion = say("A single case may be a coincidence (garbage collection, a page fault, another "
                                 "process). If the problem recurs, check what else ran on that host at that time.");
        return anomaly;
    }
    anomaly.message = say("{} of {} are sometimes slow ({} times); such a step is {} longer ({:.1f} %). The worst, {} "
                          "in step {}, took {}, {:.2f} × its usual {}.",
                          nameOps(place.kinds), who, anomaly.seen.cases, formatTime(anomaly.cost),
                          100 * input.fraction(anomaly.cost, row.step), worst.name, *anomaly.step, took, worst.ratio,
                          formatTime(worst.usual));
    anomaly.suggestion = lookAtHost();
    return anomaly;
}

/// True if slow ops are scattered over more than half of the ranks and no rank stands out.
bool isEverywhere(const std::vector<SlowPlace>& places, std::size_t ranks) {
    constexpr std::size_t kFewest = 3;
    if (places.size() < kFewest || 2 * places.size() <= ranks) return false;
    TimeNs sum{0};
    TimeNs most{0};
    for (const SlowPlace& place : places) {
        sum += place.total;
        most = std::max(most, place.total);
    }
    return 2 * most < sum;
}

/// One finding for all ranks.
Anomaly describeAll(const AnomalyInput& input, const OpSamples& samples, const UsualTimes& usual,
                    const SlowByRow& by_row, const std::vector<SlowPlace>& places, std::size_t ranks) {
    SlowPlace all = places.front();
    for (const SlowPlace& place : places) {
        if (&place == &places.front()) continue;
        all.cases.merge(place.cases);
        all.total += place.total;
        for (const OpKind kind : place.kinds) {
            if (std::ranges::find(all.kinds, kind) == all.kinds.end()) all.kinds.push_back(kind);
        }
        if (place.worst_cost <= all.worst_cost) continue;
        all.worst_cost = place.worst_cost;
        all.worst_row = place.worst_row;
    }
    const OpRow& row = samples.rows()[all.worst_row];
    WorstOp worst = worstOf(input, samples, row, by_row.at(all.worst_row), usual);
    Anomaly& anomaly = worst.anomaly;
    const int replica = anomaly.replica.value_or(0);
    anomaly.rank.reset();
    anomaly.replica.reset();
    input.setSeen(anomaly, all.cases);
    anomaly.severity = severityOf(input, anomaly, row.step);
    anomaly.evidence.emplace_back("ranks", static_cast<double>(places.size()));
    anomaly.evidence.emplace_back("worst_rank", static_cast<double>(row.rank.value));
    if (samples.replicas() > 1) anomaly.evidence.emplace_back("worst_replica", static_cast<double>(replica));
    anomaly.message =
        say("{} are sometimes slow on {} of {} ranks, but no rank stands out ({} times); such a step is {} longer "
            "({:.1f} %). The worst, {} of {} in step {}, took {}, {:.2f} × its usual {}.",
            nameOps(all.kinds), places.size(), ranks, anomaly.seen.cases, formatTime(anomaly.cost),
            100 * input.fraction(anomaly.cost, row.step), worst.name, nameRank(replica, row.rank, samples.replicas()),
            *anomaly.step, formatTime(anomaly.when->end - anomaly.when->start), worst.ratio, formatTime(worst.usual));
    anomaly.suggestion = say("Something on the hosts or in the data occasionally slows all ranks: look for other "
                             "processes, garbage collection, and inputs of unequal size.");
    return anomaly;
}

/// The ops that take much longer than usual, given the spread of all ops.
SlowByRow slowByRow(const AnomalyInput& input, const OpSamples& samples, const UsualTimes& usual,
                    const Anomalies& found) {
    const std::size_t known = usual.known();
    if (known == 0) return {};
    const auto residual = [&](std::size_t i, double own) { return samples.duration(i) / own - 1; };
    std::vector<double> residuals;
    residuals.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (const double own = usual.of(i); own > 0) residuals.push_back(residual(i, own));
    }
    // Without any spread (simulated, paced), everything would be an outlier. A thousandth is small enough for all uses.
    const double sigma = std::max(statistics::robustSigmaInPlace(residuals), 1e-3);
    std::vector<double>().swap(residuals);
    auto pieces = parallelPieces(samples.size(), [&](std::size_t begin, std::size_t end) {
        SlowByRow by_row;
        std::size_t r = samples.rowOf(begin);
        for (std::size_t i = begin; i < end; ++i) {
            while (samples.rows()[r].end() <= i)
                ++r;
            const OpRow& row = samples.rows()[r];
            const double own = usual.of(i);
            if (own <= 0) continue;
            const double deviations = residual(i, own) / sigma;
            if (deviations < input.limits.op_deviations) continue;
            // Bonferroni's correction, which is Holm's first step; the other steps are not stricter.
            const double chance = statistics::normalTail(deviations) * static_cast<double>(known);
            if (chance > input.limits.chance || toldBefore(found, input.run.steps[row.step], row.rank)) continue;
            by_row[r].add(i, deviations, chance);
        }
        return by_row;
    });
    SlowByRow by_row = std::move(pieces.front());
    for (std::size_t piece = 1; piece < pieces.size(); ++piece) {
        for (const auto& [row, slow] : pieces[piece])
            by_row[row].append(slow);
    }
    return by_row;
}

/// One-time costs of every process (lazy initialisation, autotuning, cold caches) make warm-up steps slow on most
/// ranks. This is not a fault of any rank, and is reported as a long warm-up if it lasts.
void takeOutWarmUp(const AnomalyInput& input, const OpSamples& samples, SlowByRow& by_row) {
    std::map<std::size_t, std::size_t> ranks; // per step of the warm-up: number of ranks with slow ops
    for (const auto& [row, slow] : by_row) {
        const std::size_t step = samples.rows()[row].step;
        if (input.selection.whyAside(step) == SetAside::WarmUp) ++ranks[step];
    }
    std::erase_if(by_row, [&](const auto& entry) {
        const std::size_t step = samples.rows()[entry.first].step;
        const auto found = ranks.find(step);
        return found != ranks.end() && 2 * found->second > input.run.steps[step].ranks.size();
    });
}

} // namespace

void findSlowOps(const AnomalyInput& input, const OpSamples& samples, const std::vector<std::vector<double>>& levels,
                 Anomalies& found) {
    const UsualTimes usual(input.run.steps, samples, levels);
    SlowByRow by_row = slowByRow(input, samples, usual, found);
    takeOutWarmUp(input, samples, by_row);
    std::optional<std::pair<std::size_t, StepCosts>> costs; // for one step at a time, because rows are sorted by step
    std::map<std::pair<int, Rank>, SlowPlace> by_place;     // by replica and rank
    for (const auto& [r, slow] : by_row) {
        const OpRow& row = samples.rows()[r];
        double excess = 0;
        for (const std::size_t sample : slow.samples)
            excess += samples.duration(sample) - usual.of(sample);
        if (!input.worthReporting(TimeNs{static_cast<std::int64_t>(excess)}, row.step)) continue;
        if (!costs || costs->first != row.step)
            costs.emplace(row.step, StepCosts(input.run.steps[row.step], input.knownOf(row.step)));
        std::map<const TimelineOp*, TimeNs> usual_of;
        for (const std::size_t sample : slow.samples)
            usual_of[&sampledOp(input.run.steps, row, sample)] = TimeNs{static_cast<std::int64_t>(usual.of(sample))};
        const TimeNs cost = costs->second.savedByOps([&](Rank, const TimelineOp& op) {
            const auto known = usual_of.find(&op);
            return known == usual_of.end() ? op.duration() : known->second;
        });
        if (!input.worthReporting(cost, row.step)) continue;
        const int replica = input.run.steps[row.step].replica;
        SlowPlace& place = by_place.try_emplace({replica, row.rank}).first->second;
        place.replica = replica;
        place.rank = row.rank;
        place.add(samples, r, slow, cost);
    }
    std::vector<SlowPlace> places;
    for (auto& [key, place] : by_place)
        places.push_back(std::move(place));
    const auto ranks = static_cast<std::size_t>(input.run.steps.front().pp * samples.replicas());
    if (isEverywhere(places, ranks)) {
        found.push_back(describeAll(input, samples, usual, by_row, places, ranks));
        return;
    }
    for (const SlowPlace& place : places)
        found.push_back(describe(input, samples, usual, by_row, place));
}

} // namespace bubblescope
