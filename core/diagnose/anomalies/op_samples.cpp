#include "core/diagnose/anomalies/op_samples.h"

#include "core/diagnose/statistics/robust.h"

#include <algorithm>

namespace bubblescope {
std::size_t OpSamples::groupOf(int replica, Rank rank, const Op& op) const {
    return groupAt(replica, (rank.index() * chunks_ + op.chunk.index()) * kKinds + kindOf(op));
}

OpSamples::OpSamples(std::span<const StepTimeline> steps) {
    if (steps.empty()) return;
    std::size_t ops = 0;
    for (const StepTimeline& step : steps) {
        replicas_ = std::max(replicas_, step.replica + 1);
        chunks_ = std::max(chunks_, static_cast<std::size_t>(step.vpp));
        for (const auto& rank : step.ranks)
            ops += rank.size();
    }
    per_replica_ = static_cast<std::size_t>(steps.front().pp) * chunks_ * kKinds;
    samples_.reserve(ops);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (std::size_t r = 0; r < steps[s].ranks.size(); ++r) {
            for (const TimelineOp& op : steps[s].ranks[r]) {
                if (op.op.kind == OpKind::Optimizer) continue;
                samples_.push_back({s, Rank{r}, groupOf(steps[s].replica, Rank{r}, op.op), &op,
                                    static_cast<double>(op.duration().count())});
            }
        }
    }
    const std::size_t groups = per_replica_ * static_cast<std::size_t>(replicas_);
    counts_.resize(groups);
    medians_.resize(groups);
    for (const OpSample& sample : samples_)
        ++counts_[sample.group];
    std::vector<std::vector<double>> durations(groups);
    for (std::size_t g = 0; g < groups; ++g)
        durations[g].reserve(counts_[g]);
    for (const OpSample& sample : samples_)
        durations[sample.group].push_back(sample.duration);
    for (std::size_t g = 0; g < groups; ++g)
        medians_[g] = statistics::median(std::move(durations[g]));
}

std::vector<double> thinned(std::vector<double> values, std::size_t most) {
    if (values.size() <= most) return values;
    std::vector<double> kept;
    for (std::size_t i = 0; i < most; ++i)
        kept.push_back(values[i * values.size() / most]);
    return kept;
}

} // namespace bubblescope
