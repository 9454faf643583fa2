#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/anomalies/samples.h"
#include "core/analysis/statistics/robust.h"
#include "core/analysis/statistics/tests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

// Micro-batches whose forward and backward both take long, on all ranks, because their data is longer. The cost is the
// difference to a step in which every micro-batch of all replicas contains the same work; replicas wait for each other
// at the step's end.
namespace bubblescope {
namespace {

/// The correlation between the forward and backward times of micro-batches, over all steps.
///
/// For every rank, x and y are the logarithms of a micro-batch's forward and backward times relative to similar ops
/// (means over chunks), minus the part common to all micro-batches of the step (such as a clock rate) and the part
/// common to a micro-batch's position in all steps (such as a first one that is always slow). The rest belongs to the
/// micro-batch itself. Longer data raises x and y of all ranks equally; noise of a rank or of a moment does not.
struct MicrobatchTies {
    double spread = 0;           ///< standard deviation of x, averaged over ranks: 0.1 is 10 % of the time
    double forward_backward = 0; ///< correlation of x and y, on the rank where it is smallest
    double ranks = 1;            ///< correlation of x + y with the other ranks' mean, on the rank where it is smallest
    std::size_t count = 0;       ///< micro-batches in each correlation, minus the removed means; 0 = too few
};

/// Sums for a correlation within groups; each group has a separate mean.
class WithinSums {
public:
    explicit WithinSums(std::size_t groups) : groups_(groups) {}

    void add(std::size_t group, double x, double y) {
        Group& of = groups_[group];
        of.count += 1;
        of.x += x;
        of.y += y;
        xx_ += x * x;
        yy_ += y * y;
        xy_ += x * y;
    }
    [[nodiscard]] double varianceX() const { return less(xx_, &Group::x, &Group::x) / std::max(1.0, count()); }
    [[nodiscard]] double correlation() const {
        const double xx = less(xx_, &Group::x, &Group::x);
        const double yy = less(yy_, &Group::y, &Group::y);
        constexpr double kNothing = 1e-12; // rounding error
        if (xx <= kNothing * xx_ || yy <= kNothing * yy_) return 0;
        return less(xy_, &Group::x, &Group::y) / std::sqrt(xx * yy);
    }
    [[nodiscard]] double count() const {
        double all = 0;
        for (const Group& group : groups_)
            all += group.count;
        return all;
    }

private:
    struct Group {
        double count = 0;
        double x = 0;
        double y = 0;
    };
    /// The sum of products minus that of the groups' means.
    [[nodiscard]] double less(double sum, double Group::*first, double Group::*second) const {
        for (const Group& group : groups_)
            sum -= group.count > 0 ? group.*first * group.*second / group.count : 0;
        return sum;
    }

    std::vector<Group> groups_;
    double xx_ = 0;
    double yy_ = 0;
    double xy_ = 0;
};

/// Sum and number of the times of a micro-batch's ops on a rank.
struct MeanTime {
    double sum = 0;
    double count = 0;
    [[nodiscard]] double log() const { return std::log(sum / count); }
};

constexpr std::size_t kForwardTime = 0;
constexpr std::size_t kBackwardTime = 1;

/// `samples` must be made from the steps. Linear in ops.
MicrobatchTies microbatchTies(std::span<const StepTimeline> steps, const OpSamples& samples) {
    MicrobatchTies ties;
    if (steps.size() < 2 || steps.front().microbatches < 2) return ties; // see `used`
    const auto ranks = static_cast<std::size_t>(steps.front().pp);
    const auto microbatches = static_cast<std::size_t>(steps.front().microbatches);
    std::vector<WithinSums> own(ranks, WithinSums(microbatches));
    std::vector<WithinSums> others(ranks, WithinSums(microbatches));
    std::vector<std::array<MeanTime, 2>> times;                    // by rank and micro-batch
    std::vector<std::array<double, 2>> logs(ranks * microbatches); // by rank and micro-batch
    std::size_t used = 0;                                          // number of steps
    for (std::size_t row = 0; row < samples.rows().size();) {
        const std::size_t s = samples.rows()[row].step;
        times.assign(ranks * microbatches, {});
        for (; row < samples.rows().size() && samples.rows()[row].step == s; ++row) {
            const OpRow& of_rank = samples.rows()[row];
            std::size_t sample = of_rank.begin;
            for (const TimelineOp& op : steps[s].ranks[of_rank.rank.index()]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                const std::size_t i = sample++;
                const double usual = samples.median(samples.group(i));
                const bool counts = !op.op.overlapped && op.op.kind != OpKind::BackwardWeight && usual > 0 &&
                                    op.op.microbatch.value >= 0 && op.op.microbatch.index() < microbatches;
                if (!counts) continue;
                const std::size_t side = op.op.kind == OpKind::Forward ? kForwardTime : kBackwardTime;
                MeanTime& time = times[of_rank.rank.index() * microbatches + op.op.microbatch.index()][side];
                time.sum += samples.duration(i) / usual;
                time.count += 1;
            }
        }
        const bool complete = std::ranges::all_of(times, [](const auto& both) {
            return std::ranges::all_of(both, [](const MeanTime& time) { return time.sum > 0; });
        });
        if (!complete) continue;
        ++used;
        for (std::size_t r = 0; r < ranks; ++r) {
            for (const std::size_t side : {kForwardTime, kBackwardTime}) {
                double mean = 0;
                for (std::size_t m = r * microbatches; m < (r + 1) * microbatches; ++m) {
                    logs[m][side] = times[m][side].log();
                    mean += logs[m][side] / static_cast<double>(microbatches);
                }
                for (std::size_t m = r * microbatches; m < (r + 1) * microbatches; ++m)
                    logs[m][side] -= mean;
            }
        }
        for (std::size_t m = 0; m < microbatches; ++m) {
            double all = 0;
            for (std::size_t r = 0; r < ranks; ++r)
                all += logs[r * microbatches + m][kForwardTime] + logs[r * microbatches + m][kBackwardTime];
            for (std::size_t r = 0; r < ranks; ++r) {
                const auto& [x, y] = logs[r * microbatches + m];
                own[r].add(m, x, y);
                others[r].add(m, x + y, all - x - y);
            }
        }
    }
    const std::size_t means = microbatches + used; // removed
    if (used < 2 || used * microbatches < means + 8) return ties;
    ties.count = used * microbatches - means;
    ties.forward_backward = 1;
    for (std::size_t r = 0; r < ranks; ++r) {
        ties.spread += std::sqrt(std::max(0.0, own[r].varianceX())) / static_cast<double>(ranks);
        ties.forward_backward = std::min(ties.forward_backward, own[r].correlation());
        if (ranks > 1) ties.ranks = std::min(ties.ranks, others[r].correlation());
    }
    return ties;
}

/// Per micro-batch: the median of its ops' times relative to similar ops; 1 if it has no ops. Halves of pairs do not
/// count, because they last as long as the pair. `rows` are the step's rows in OpSamples::rows().
std::vector<double> microbatchLevels(const StepTimeline& step, const OpSamples& samples, std::span<const OpRow> rows) {
    std::vector<std::vector<double>> relative(static_cast<std::size_t>(step.microbatches));
    for (const OpRow& row : rows) {
        std::size_t sample = row.begin;
        for (const TimelineOp& op : step.ranks[row.rank.index()]) {
            if (op.op.kind == OpKind::Optimizer) continue;
            const std::size_t i = sample++;
            const double usual = samples.median(samples.group(i));
            if (op.op.overlapped || usual <= 0 || op.op.microbatch.index() >= relative.size()) continue;
            relative[op.op.microbatch.index()].push_back(samples.duration(i) / usual);
        }
    }
    std::vector<double> levels;
    for (std::vector<double>& of_microbatch : relative)
        levels.push_back(of_microbatch.empty() ? 1 : std::max(1e-3, statistics::medianInPlace(of_microbatch)));
    return levels;
}

/// The cost of one step number over all replicas, and the slowest replica.
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
    anomaly.suggestion =
        say("Balance the input: split or pack sequences so that all micro-batches of all replicas contain the same "
            "amount of work. Attention time grows with the square of the sequence length.");
    found.push_back(std::move(anomaly));
    return levels;
}

} // namespace bubblescope
