#pragma once

#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// An op of a run and the group of its likes.
struct OpSample {
    std::size_t step = 0; ///< index into the run's steps
    Rank rank;
    std::size_t group = 0;
    const TimelineOp* op = nullptr;
    double duration = 0; ///< ns
};

/// All ops of a run, but optimizers, in groups of likes: those of one replica, rank, chunk and kind. The halves of a
/// pair, which last as long as the pair, are kinds of their own. Refers to the steps. Linear in ops.
class OpSamples {
public:
    explicit OpSamples(std::span<const StepTimeline> steps);

    static constexpr std::size_t kKinds = 8; ///< F, B, I, W alone and as half of a pair
    [[nodiscard]] static std::size_t kindOf(const Op& op) {
        return static_cast<std::size_t>(op.kind) + (op.overlapped ? 4 : 0);
    }

    [[nodiscard]] std::span<const OpSample> samples() const { return samples_; }
    [[nodiscard]] std::size_t groupCount() const { return medians_.size(); }
    [[nodiscard]] double median(std::size_t group) const { return medians_[group]; }
    [[nodiscard]] std::size_t count(std::size_t group) const { return counts_[group]; }
    [[nodiscard]] int replicas() const { return replicas_; }

    [[nodiscard]] std::size_t groupOf(int replica, Rank rank, const Op& op) const;
    /// The same likes in all replicas.
    [[nodiscard]] std::size_t placeOf(std::size_t group) const { return group % per_replica_; }
    [[nodiscard]] std::size_t placeCount() const { return per_replica_; }
    /// The group of a place in a replica.
    [[nodiscard]] std::size_t groupAt(int replica, std::size_t place) const {
        return static_cast<std::size_t>(replica) * per_replica_ + place;
    }

private:
    int replicas_ = 1;
    std::size_t chunks_ = 1;
    std::size_t per_replica_ = 0;
    std::vector<OpSample> samples_;
    std::vector<double> medians_;
    std::vector<std::size_t> counts_;
};

/// At most this many of a list, evenly spread, for tests whose cost grows faster than the list.
[[nodiscard]] std::vector<double> thinned(std::vector<double> values, std::size_t most = 2000);

} // namespace bubblescope
