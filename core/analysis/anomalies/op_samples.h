#pragma once

#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// The ops that a rank ran in a step, but optimizers, in its order: OpSamples from `begin` to `end`.
struct OpRow {
    std::size_t step = 0; ///< index into the run's steps
    Rank rank;
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// How long all ops of a run took, but optimizers, in groups of likes: those of one replica, rank, chunk and kind. The
/// halves of a pair, which last as long as the pair, are kinds of their own. 20 bytes an op; linear in ops.
class OpSamples {
public:
    explicit OpSamples(std::span<const StepTimeline> steps);

    static constexpr std::size_t kKinds = 8; ///< F, B, I, W alone and as half of a pair
    [[nodiscard]] static std::size_t kindOf(const Op& op) {
        return static_cast<std::size_t>(op.kind) + (op.overlapped ? 4 : 0);
    }
    [[nodiscard]] std::size_t kindOf(std::size_t sample) const { return groups_[sample] % kKinds; }
    [[nodiscard]] Chunk chunkOf(std::size_t sample) const { return Chunk{placeOf(groups_[sample]) / kKinds % chunks_}; }

    [[nodiscard]] std::span<const OpRow> rows() const { return rows_; } ///< by step, then rank
    [[nodiscard]] std::size_t size() const { return groups_.size(); }
    [[nodiscard]] std::size_t group(std::size_t sample) const { return groups_[sample]; }
    [[nodiscard]] double duration(std::size_t sample) const { return durations_[sample]; } ///< ns

    [[nodiscard]] std::size_t groupCount() const { return medians_.size(); }
    [[nodiscard]] double median(std::size_t group) const { return medians_[group]; }
    [[nodiscard]] std::size_t count(std::size_t group) const { return counts_[group]; }
    [[nodiscard]] int replicas() const { return replicas_; }

    /// The same likes in all replicas.
    [[nodiscard]] std::size_t placeOf(std::size_t group) const { return group % per_replica_; }
    [[nodiscard]] std::size_t placeOf(Rank rank, Chunk chunk, std::size_t kind) const {
        return (rank.index() * chunks_ + chunk.index()) * kKinds + kind;
    }
    /// The durations of a place's ops, by step.
    [[nodiscard]] std::span<const double> ofPlace(std::size_t place) const {
        return std::span(by_place_).subspan(place_begin_[place], place_begin_[place + 1] - place_begin_[place]);
    }
    /// The group of a place in a replica.
    [[nodiscard]] std::size_t groupAt(int replica, std::size_t place) const {
        return static_cast<std::size_t>(replica) * per_replica_ + place;
    }

private:
    void read(std::span<const StepTimeline> steps);
    void sortByPlace();
    void findMedians();

    int replicas_ = 1;
    std::size_t chunks_ = 1;
    std::size_t per_replica_ = 0;
    std::vector<OpRow> rows_;
    std::vector<std::uint32_t> groups_; ///< per sample
    std::vector<double> durations_;     ///< per sample
    std::vector<double> by_place_;
    std::vector<std::size_t> place_begin_; ///< and the end of the last
    std::vector<double> medians_;
    std::vector<std::size_t> counts_;
};

/// The op of a sample of this row.
[[nodiscard]] const TimelineOp& sampledOp(std::span<const StepTimeline> steps, const OpRow& row, std::size_t sample);

/// At most this many of a list, evenly spread, for tests whose cost grows faster than the list.
[[nodiscard]] std::vector<double> thinned(std::vector<double> values, std::size_t most = 2000);

} // namespace bubblescope
