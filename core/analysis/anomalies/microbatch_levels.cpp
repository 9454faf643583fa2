#include "core/analysis/anomalies/microbatch_levels.h"

#include "core/analysis/statistics/robust.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bubblescope {
namespace {

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

} // namespace

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

} // namespace bubblescope
