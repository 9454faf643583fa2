#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/statistics/change_point.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Compares ranks with equivalent ones: the same rank of other replicas, which runs the same ops, and the rank itself in
// earlier steps.
namespace bubblescope {
namespace {

Sentence lookAtDevice() {
    return say("Check that rank's device and host: clock speed, temperature, other processes, memory errors.");
}

/// The step of a replica closest to the middle of its steps in [from, to), as an index into the run's steps.
std::optional<std::size_t> stepToReplay(const AnomalyInput& input, int replica, std::size_t from) {
    std::vector<std::size_t> candidates;
    for (std::size_t s = from; s < input.run.steps.size(); ++s) {
        if (input.run.steps[s].replica == replica) candidates.push_back(s);
    }
    if (candidates.empty()) return std::nullopt;
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(candidates.size() / 2);
    std::ranges::nth_element(candidates, middle, {}, [&](std::size_t s) { return std::pair(input.wall(s), s); });
    return *middle;
}

/// The time that a step would save if a rank's ops took 1/ratio of their time.
TimeNs costOfRatio(const AnomalyInput& input, std::size_t step, Rank rank, double ratio) {
    return StepCosts(input.run.steps[step], input.knownOf(step)).savedByOps([&](Rank r, const TimelineOp& op) {
        if (r != rank) return op.duration();
        return TimeNs{static_cast<std::int64_t>(static_cast<double>(op.duration().count()) / ratio)};
    });
}

/// A report about a rank whose ops take `ratio` times as long as they should from a step on, and the step (index into
/// the run's) on which the cost was replayed. Empty if the cost is too small. The caller adds texts and evidence.
struct Slowdown {
    Anomaly anomaly;
    std::size_t step = 0;
};
std::optional<Slowdown> slowdownOf(const AnomalyInput& input, int replica, Rank rank, std::size_t from, double ratio) {
    const auto step = stepToReplay(input, replica, from);
    if (!step) return std::nullopt;
    const TimeNs cost = costOfRatio(input, *step, rank, ratio);
    if (!input.worthReporting(cost, *step)) return std::nullopt;
    Slowdown slowdown{{}, *step};
    slowdown.anomaly.kind = AnomalyKind::Straggler;
    slowdown.anomaly.severity = input.severityOf(cost, *step);
    slowdown.anomaly.rank = rank;
    slowdown.anomaly.cost = cost;
    return slowdown;
}

/// A rank's times relative to those of equivalent ranks.
struct AmongReplicas {
    double ratio = 1; ///< median
    double chance = 1;
};

/// Adds the results for a rank's replicas. `usual` is per group: the time at the same place in the other replicas.
void compareReplicas(const AnomalyInput& input, const OpSamples& samples, Rank rank, const std::vector<double>& usual,
                     std::map<std::pair<int, Rank>, AmongReplicas>& into) {
    std::map<int, std::vector<double>> relative; // by replica
    samples.eachRowOf(rank, [&](const OpRow& row) {
        std::vector<double>& times = relative[input.run.steps[row.step].replica];
        for (std::size_t i = row.begin; i < row.end(); ++i) {
            if (usual[samples.group(i)] > 0) times.push_back(samples.duration(i) / usual[samples.group(i)]);
        }
    });
    for (const auto& [of, times] : relative) {
        const int replica = of; // for lambdas
        if (times.empty()) continue;
        AmongReplicas& compared = into[{replica, rank}];
        compared.ratio = statistics::median(times);
        if (compared.ratio < input.limits.replica_ratio) continue;
        std::vector<double> equals; // close to 1 if they do not differ
        samples.eachRowOf(rank, [&](const OpRow& row) {
            if (input.run.steps[row.step].replica == replica) return;
            for (std::size_t i = row.begin; i < row.end(); ++i) {
                const double own = usual[samples.groupAt(replica, samples.placeOf(samples.group(i)))];
                if (own > 0) equals.push_back(samples.duration(i) / own);
            }
        });
        compared.chance = statistics::mannWhitney(thinned(times), thinned(std::move(equals))).p_greater;
    }
}

void findAmongReplicas(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    if (samples.replicas() < 2) return;
    std::vector<double> usual(samples.groupCount());
    for (std::size_t g = 0; g < samples.groupCount(); ++g) {
        std::vector<double> others;
        for (int replica = 0; replica < samples.replicas(); ++replica) {
            const std::size_t other = samples.groupAt(replica, samples.placeOf(g));
            if (other != g && samples.count(other) > 0) others.push_back(samples.median(other));
        }
        usual[g] = statistics::median(std::move(others));
    }
    std::map<std::pair<int, Rank>, AmongReplicas> candidates;
    for (int r = 0; r < input.run.steps.front().pp; ++r)
        compareReplicas(input, samples, Rank{r}, usual, candidates);
    std::vector<double> chances;
    for (const auto& [key, candidate] : candidates)
        chances.push_back(candidate.chance);
    const std::vector<double> corrected = statistics::holm(chances);
    std::size_t place = 0;
    for (const auto& [key, candidate] : candidates) {
        const double chance = corrected[place++];
        const double ratio = candidate.ratio;
        if (chance > input.limits.chance) continue;
        auto slowdown = slowdownOf(input, key.first, key.second, 0, ratio);
        if (!slowdown) continue;
        Anomaly& anomaly = slowdown->anomaly;
        anomaly.replica = key.first;
        input.setLasting(anomaly);
        anomaly.evidence = {{"ratio", ratio}, {"p_value", chance}};
        anomaly.message = say("{} takes {:.2f} × as long as its peers in the other replicas for the same ops; at their "
                              "speed its step would be {} shorter ({:.1f} %).",
                              nameRank(key.first, key.second, samples.replicas()), ratio, formatTime(anomaly.cost),
                              100 * input.fraction(anomaly.cost, slowdown->step));
        anomaly.suggestion = lookAtDevice();
        found.push_back(std::move(anomaly));
    }
}

/// Ranks that compute longer although their ops take as long as those of equivalent ranks, which wait for them in
/// collectives inside the ops.
void findHidden(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    if (samples.replicas() < 2) return;
    struct Times {
        std::vector<double> compute; ///< relative to the equivalent ranks in the other replicas
        std::vector<double> whole;
        double waits = 0;
        double ops = 0;
    };
    const auto waits = [](const OpDetails& details) { return details.exposed_comm > TimeNs{0}; };
    const auto& steps = input.run.steps;
    const bool any =
        std::ranges::any_of(steps, [&](const StepTimeline& step) { return std::ranges::any_of(step.details, waits); });
    if (!any) return;
    const auto exposedIn = [&](const OpRow& row, const TimelineOp& op) {
        return steps[row.step].detailsOf(op).exposed_comm;
    };
    const auto eachOp = [&](const auto& use) {
        for (const OpRow& row : samples.rows()) {
            std::size_t sample = row.begin;
            for (const TimelineOp& op : steps[row.step].ranks[row.rank.index()]) {
                if (op.op.kind != OpKind::Optimizer) use(row, sample++, op);
            }
        }
    };
    std::vector<std::vector<double>> of_group(samples.groupCount());
    eachOp([&](const OpRow& row, std::size_t sample, const TimelineOp& op) {
        of_group[samples.group(sample)].push_back(static_cast<double>((op.duration() - exposedIn(row, op)).count()));
    });
    std::vector<double> compute;
    for (std::vector<double>& of_one : of_group)
        compute.push_back(of_one.empty() ? 0 : statistics::medianInPlace(of_one));
    std::vector<double> usual_compute(samples.groupCount());
    std::vector<double> usual_whole(samples.groupCount());
    for (std::size_t g = 0; g < samples.groupCount(); ++g) {
        std::vector<double> computes;
        std::vector<double> wholes;
        for (int replica = 0; replica < samples.replicas(); ++replica) {
            const std::size_t other = samples.groupAt(replica, samples.placeOf(g));
            if (other == g || samples.count(other) == 0) continue;
            computes.push_back(compute[other]);
            wholes.push_back(samples.median(other));
        }
        usual_compute[g] = statistics::median(std::move(computes));
        usual_whole[g] = statistics::median(std::move(wholes));
    }
    std::map<std::pair<int, Rank>, Times> times;
    eachOp([&](const OpRow& row, std::size_t sample, const TimelineOp& op) {
        const std::size_t group = samples.group(sample);
        if (usual_compute[group] <= 0 || usual_whole[group] <= 0) return;
        Times& own = times[{steps[row.step].replica, row.rank}];
        own.compute.push_back(static_cast<double>((op.duration() - exposedIn(row, op)).count()) / usual_compute[group]);
        own.whole.push_back(samples.duration(sample) / usual_whole[group]);
        own.waits += static_cast<double>(exposedIn(row, op).count());
        own.ops += 1;
    });
    std::vector<double> chances;
    for (const auto& [key, own] : times) {
        std::vector<double> equals;
        double waits_of_equals = 0;
        double ops_of_equals = 0;
        for (const auto& [other, its] : times) {
            if (other.second != key.second || other.first == key.first) continue;
            equals.insert(equals.end(), its.compute.begin(), its.compute.end());
            waits_of_equals += its.waits;
            ops_of_equals += its.ops;
        }
        const bool hidden = statistics::median(own.compute) >= input.limits.replica_ratio &&
                            statistics::median(own.whole) < input.limits.replica_ratio && ops_of_equals > 0 &&
                            own.waits / own.ops < waits_of_equals / ops_of_equals;
        chances.push_back(hidden ? statistics::mannWhitney(thinned(own.compute), thinned(std::move(equals))).p_greater
                                 : 1);
    }
    const std::vector<double> corrected = statistics::holm(chances);
    std::size_t place = 0;
    for (const auto& [key, own] : times) {
        const double chance = corrected[place++];
        const auto step = stepToReplay(input, key.first, 0);
        if (chance > input.limits.chance || !step) continue;
        const double ratio = statistics::median(own.compute);
        const Rank slow = key.second;
        // The ops of equivalent ranks end together with its own, so all of them save the same time.
        const TimeNs cost =
            StepCosts(steps[*step], input.knownOf(*step)).savedByOps([&](Rank rank, const TimelineOp& op) {
                if (rank != slow) return op.duration();
                const TimeNs exposed = steps[*step].detailsOf(op).exposed_comm;
                const auto computes = static_cast<double>((op.duration() - exposed).count());
                return op.duration() - TimeNs{static_cast<std::int64_t>(computes * (1 - 1 / ratio))};
            });
        if (!input.worthReporting(cost, *step)) continue;
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::HiddenStraggler;
        anomaly.severity = input.severityOf(cost, *step);
        anomaly.rank = key.second;
        anomaly.replica = key.first;
        anomaly.cost = cost;
        input.setLasting(anomaly);
        anomaly.evidence = {{"ratio", ratio}, {"p_value", chance}};
        anomaly.message =
            say("{} computes {:.2f} × as long as its peers in the other replicas, which wait for it in collectives "
                "inside their ops, so all ops look equally long; at their speed a step would be {} shorter ({:.1f} %).",
                nameRank(key.first, key.second, samples.replicas()), ratio, formatTime(cost),
                100 * input.fraction(cost, *step));
        anomaly.suggestion = lookAtDevice();
        found.push_back(std::move(anomaly));
    }
}

/// A rank's level per step: the median of its ops' times relative to their groups' medians, divided by the median of
/// all ranks' levels in that step, or by the other rank's if there are two. A cause that slows all ranks of a step
/// equally, such as longer sequences, does not change the levels.
struct RankLevels {
    std::vector<std::uint32_t> steps; ///< by index into the run's steps
    std::vector<double> levels;       ///< one per step
    std::vector<double> own;          ///< undivided levels; empty if there are more than two ranks

    /// True if most of the change is the rank's own: with two ranks, the other may have become faster.
    [[nodiscard]] bool changedItself(const statistics::Change& change) const {
        if (own.empty()) return true;
        const auto begin = own.begin();
        const auto at = begin + static_cast<std::ptrdiff_t>(change.at);
        const double before = statistics::median({begin, at});
        return statistics::median({at, own.end()}) / std::max(before, 1e-9) >= std::sqrt(change.after / change.before);
    }
};
std::map<std::pair<int, Rank>, RankLevels> levels(const AnomalyInput& input, const OpSamples& samples) {
    std::map<std::pair<int, Rank>, RankLevels> out;
    const auto& steps = input.run.steps;
    std::vector<double> relative;
    std::vector<std::pair<RankLevels*, double>> of_step;
    std::vector<double> common;
    const std::span<const OpRow> rows = samples.rows();
    for (std::size_t r = 0; r < rows.size();) {
        const std::uint32_t step = rows[r].step;
        of_step.clear();
        common.clear();
        for (; r < rows.size() && rows[r].step == step; ++r) {
            const OpRow& row = rows[r];
            relative.clear();
            for (std::size_t i = row.begin; i < row.end(); ++i) {
                const double usual = samples.median(samples.group(i));
                if (usual > 0) relative.push_back(samples.duration(i) / usual);
            }
            if (relative.empty()) continue;
            RankLevels& of_rank = out[{steps[step].replica, row.rank}];
            if (of_rank.steps.empty()) {
                of_rank.steps.reserve(steps.size() / static_cast<std::size_t>(samples.replicas()));
                of_rank.levels.reserve(of_rank.steps.capacity());
            }
            of_step.emplace_back(&of_rank, statistics::medianInPlace(relative));
            common.push_back(of_step.back().second);
        }
        const bool of_two = of_step.size() == 2;
        const double usual = std::max(1e-9, statistics::medianInPlace(common));
        for (const auto& [of_rank, level] : of_step) {
            const double others = of_two ? std::max(1e-9, 2 * usual - level) : usual; // the mean of two is the median
            of_rank->steps.push_back(step);
            of_rank->levels.push_back(level / others);
            if (of_two) of_rank->own.push_back(level);
        }
    }
    return out;
}

void findOnsets(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    const auto by_rank = levels(input, samples);
    statistics::ChangeLimits limits;
    limits.probability = input.limits.step_change_chance;
    limits.hazard = input.limits.step_change_hazard;
    limits.least_share = input.limits.onset_share;
    limits.least_values = 3;
    std::vector<const std::vector<double>*> series;
    for (const auto& [key, of_rank] : by_rank)
        series.push_back(&of_rank.levels);
    std::vector<std::vector<statistics::Change>> changes(series.size());
    parallelFor(series.size(), [&](std::size_t i) { changes[i] = statistics::findChanges(*series[i], limits); });
    std::size_t place = 0;
    for (const auto& [key, of_rank] : by_rank) {
        for (const statistics::Change& change : changes[place++]) {
            if (change.after <= change.before || !of_rank.changedItself(change)) continue;
            const std::size_t first = of_rank.steps[change.at];
            const double ratio = change.after / change.before;
            auto slowdown = slowdownOf(input, key.first, key.second, first, ratio);
            if (!slowdown) continue;
            Anomaly& anomaly = slowdown->anomaly;
            if (samples.replicas() > 1) anomaly.replica = key.first;
            anomaly.step = input.run.steps[first].index;
            input.setLasting(anomaly, *anomaly.step);
            anomaly.evidence = {
                {"ratio", ratio}, {"from_step", input.run.steps[first].index}, {"probability", change.probability}};
            anomaly.message =
                say("{} became {:.2f} × slower from step {} on, but other ranks did not; at its former speed a step "
                    "would be {} shorter ({:.1f} %).",
                    nameRank(key.first, key.second, samples.replicas()), ratio, input.run.steps[first].index,
                    formatTime(anomaly.cost), 100 * input.fraction(anomaly.cost, slowdown->step));
            anomaly.suggestion = say("Find out what happened to this rank before step {}. {}",
                                     input.run.steps[first].index, lookAtDevice());
            found.push_back(std::move(anomaly));
            break; // report only the first change; later ones show in the step times
        }
    }
}

/// Medians of the ops of each of OpSamples::kKinds, at least 1 ns.
std::vector<double> usualOfKinds(const OpSamples& samples) {
    std::vector<std::vector<double>> durations(OpSamples::kKinds);
    for (std::size_t i = 0; i < samples.size(); ++i)
        durations[samples.kindOf(i)].push_back(samples.duration(i));
    std::vector<double> usual;
    for (std::vector<double>& of_kind : durations)
        usual.push_back(std::max(1.0, statistics::medianInPlace(of_kind)));
    return usual;
}

/// With one chunk per rank, a slow rank cannot be distinguished from a slow stage. With several chunks, a slow rank is
/// slow in all of them.
void findAmongRanks(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    const auto pp = static_cast<std::size_t>(input.run.steps.front().pp);
    const auto vpp = static_cast<std::size_t>(input.run.steps.front().vpp);
    if (pp < 2 || vpp < 2) return;
    const std::vector<double> usual_of_kind = usualOfKinds(samples);
    // One rank at a time, because the times of all ranks take 8 bytes per op.
    const auto eachTimeOf = [&](std::size_t r, const auto& use) { // use(chunk, time)
        samples.eachRowOf(Rank{r}, [&](const OpRow& row) {
            for (std::size_t i = row.begin; i < row.end(); ++i)
                use(samples.chunkOf(i), samples.duration(i) / usual_of_kind[samples.kindOf(i)]);
        });
    };
    const auto timesOf = [&](std::size_t r) {
        std::vector<double> times;
        eachTimeOf(r, [&](Chunk, double time) { times.push_back(time); });
        return times;
    };
    const auto timesByChunk = [&](std::size_t r) {
        std::vector<std::vector<double>> times(samples.chunks());
        eachTimeOf(r, [&](Chunk chunk, double time) { times[chunk.index()].push_back(time); });
        return times;
    };
    std::vector<double> level;
    std::vector<std::size_t> ops;
    for (std::size_t r = 0; r < pp; ++r) {
        std::vector<double> times = timesOf(r);
        ops.push_back(times.size());
        level.push_back(statistics::medianInPlace(times));
    }
    const double median = statistics::median(level);
    const double deviation = pp > 2 ? statistics::medianDeviation(level) : 0;
    const auto usualFor = [&](std::size_t r) { return pp > 2 ? median : level[1 - r]; };
    std::vector<double> chances(pp, 1.0);
    for (std::size_t r = 0; r < pp; ++r) {
        const double usual = usualFor(r);
        const double excess = level[r] - usual;
        if (excess <= 0 || excess < input.limits.stage_deviations * deviation) continue;
        std::vector<std::vector<double>> of_chunks = timesByChunk(r);
        of_chunks.resize(vpp); // other steps may have more than the first
        const bool in_all = std::ranges::all_of(of_chunks, [&](std::vector<double>& times) {
            return times.empty() || statistics::medianInPlace(times) - usual >= excess / 2;
        });
        if (!in_all) continue;
        Thinned others(samples.size() - ops[r]);
        for (std::size_t other = 0; other < pp; ++other) {
            if (other == r) continue;
            for (const double time : timesOf(other))
                others.add(time);
        }
        chances[r] = statistics::mannWhitney(thinned(timesOf(r)), others.take()).p_greater;
    }
    const std::vector<double> corrected = statistics::holm(chances);
    for (std::size_t r = 0; r < pp; ++r) {
        if (corrected[r] > input.limits.chance) continue;
        const double ratio = level[r] / usualFor(r);
        const TimeNs cost = costOfRatio(input, input.typicalStep(), Rank{r}, ratio);
        if (!input.worthReporting(cost, input.typicalStep())) continue;
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::Straggler;
        anomaly.severity = input.severityOf(cost, input.typicalStep());
        anomaly.rank = Rank{r};
        anomaly.cost = cost;
        input.setLasting(anomaly);
        anomaly.evidence = {{"ratio", ratio}, {"p_value", corrected[r]}, {"chunks", static_cast<double>(vpp)}};
        const double share = 100 * input.fraction(cost, input.typicalStep());
        anomaly.message = pp > 2 ? say("rank {} is slow in all {} chunks: its ops take {:.2f} × as long as other "
                                       "ranks'; at their speed the step would be {} shorter ({:.1f} %).",
                                       r, vpp, ratio, formatTime(cost), share)
                                 : say("rank {} is slow in all {} chunks: its ops take {:.2f} × as long as the other "
                                       "rank's; at that speed the step would be {} shorter ({:.1f} %).",
                                       r, vpp, ratio, formatTime(cost), share);
        anomaly.suggestion = lookAtDevice();
        found.push_back(std::move(anomaly));
    }
}

} // namespace

void findStragglers(const AnomalyInput& input, const OpSamples& samples, Anomalies& found) {
    findAmongReplicas(input, samples, found);
    findHidden(input, samples, found);
    findAmongRanks(input, samples, found);
    if (input.run.steps.front().pp > 1) findOnsets(input, samples, found);
}

} // namespace bubblescope
