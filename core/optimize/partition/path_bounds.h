#pragma once

#include "core/optimize/partition/step_evaluator.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace bubblescope {

/// The time of an impossible split; two such times can be added without overflow.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

/// The boundaries of stages. Stage k contains the layers [cuts[k], cuts[k+1]), so there is one more entry than stages.
using Cuts = std::vector<int>;

/// Prefix sums of layer times, which give the time of any range of layers in O(1).
class LayerSums {
public:
    explicit LayerSums(const std::vector<StageDurations>& layers);
    [[nodiscard]] int layers() const { return static_cast<int>(sums_.size()) - 1; }
    [[nodiscard]] const StageDurations& upTo(int layer) const { return sums_[static_cast<std::size_t>(layer)]; }
    [[nodiscard]] StageDurations of(int from, int to) const;
    [[nodiscard]] std::vector<StageDurations> stageTimes(const Cuts& cuts) const;

private:
    std::vector<StageDurations> sums_;
};

/// Lower bounds on the step time of any split. As a function of the split, the length of a path through the step's ops
/// is a sum over stages of constants times the stage's layers. The step time is the length of the longest path.
/// Therefore any path gives a bound for every split. For one path (or the mean of several), dynamic programming over
/// (stage, first layer) finds the split that minimises its length, in time linear in stages times layers.
///
/// This gives two bounds. `rest`: with the earlier stages fixed, the length of the path in these stages plus its
/// minimum in the others. `worstStage`: the longest path for each stage and each range of layers that it may contain,
/// if everything else takes its minimum. The bound is that of the split whose worst stage is best. Unlike `rest` for a
/// mean of paths, this bound accounts for indivisible layers.
class PathBounds {
public:
    /// Reserves memory for `max_rows` rows; the tables use 24 bytes per stage, layer and row.
    PathBounds(const LayerSums& sums, int stages, std::int64_t comm, std::size_t max_rows);

    /// Adds the sum of `count` paths. The bound is their mean. Does nothing if `max_rows` has been reached.
    void add(const StepPath& path, std::int64_t count = 1);
    [[nodiscard]] std::size_t rows() const { return rows_; }
    [[nodiscard]] std::size_t room() const { return most_rows_ - rows_; }

    /// The contribution of a stage's layers [from, to) to a row.
    [[nodiscard]] std::int64_t stagePart(std::size_t row, int stage, int from, int to) const {
        return part_[at(stage, to) * most_rows_ + row] - part_[at(stage, from) * most_rows_ + row];
    }
    /// The minimum contribution of the stages from `stage` on, if these contain the layers from `from` on.
    [[nodiscard]] std::int64_t rest(std::size_t row, int stage, int from) const {
        return rest_[at(stage, from) * most_rows_ + row];
    }
    [[nodiscard]] std::int64_t fixed(std::size_t row) const { return fixed_[row]; }
    [[nodiscard]] std::int64_t count(std::size_t row) const { return counts_[row]; }

    /// Minimal worst stage for the stages from `stage` on, with the layers from `from` on. A bound on the step time.
    [[nodiscard]] std::int64_t worstStage(int stage, int from) const { return worst_[at(stage, from)]; }
    [[nodiscard]] std::int64_t worstStage(int stage, int from, int to) const;
    /// Updates worstStage() for all rows.
    void updateWorstStages();

    /// The bound on the step time from one row, and the split that attains it.
    [[nodiscard]] std::int64_t bound(std::size_t row) const;
    [[nodiscard]] Cuts bestSplit(std::size_t row) const;
    [[nodiscard]] Cuts bestWorstStageSplit() const;

private:
    /// Cuts each stage where `cost(stage, begin, end)` is lowest.
    template <class Cost>
    [[nodiscard]] Cuts cheapestCuts(Cost cost) const;
    [[nodiscard]] std::size_t at(int stage, int layer) const {
        return static_cast<std::size_t>(stage) * static_cast<std::size_t>(layers_ + 1) +
               static_cast<std::size_t>(layer);
    }
    [[nodiscard]] std::size_t runAt(int stage, int from, int to) const;
    /// The first layer that a stage may contain, because each stage before and after it has at least one layer.
    [[nodiscard]] int firstOf(int stage) const { return stage; }
    [[nodiscard]] int lastOf(int stage) const { return stage == stages_ ? layers_ : layers_ - stages_ + stage; }

    const LayerSums& sums_;
    int stages_;
    int layers_;
    std::int64_t comm_;
    std::size_t most_rows_;
    std::size_t rows_ = 0;
    std::size_t rows_in_worst_ = 0;
    std::vector<std::int64_t> part_;   ///< (stage, layer) x row: sum up to the layer, with the stage's counts
    std::vector<std::int64_t> rest_;   ///< (stage, layer) x row
    std::vector<std::int64_t> before_; ///< (stage, layer) x row: the minimum contribution of the earlier stages
    std::vector<std::int64_t> fixed_;
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> runs_;  ///< (stage, from, to): longest path with this range at the stage
    std::vector<std::int64_t> worst_; ///< (stage, layer)
};

/// A lower bound on the step time from the number of layers on each rank, for ranks with several chunks. A path that
/// stays on one rank bounds the step time if this rank has n layers, regardless of the cuts. A step time T limits the
/// layers of each rank, and they must add up to those of the model.
class RankBounds {
public:
    RankBounds(const LayerSums& sums, const std::vector<std::size_t>& rank_of_stage, std::int64_t comm);

    /// The cost of all add() calls, in search steps, for three paths per rank.
    static std::int64_t steps(int layers, const std::vector<std::size_t>& rank_of_stage);

    /// Adds a path that is long because of this rank.
    void add(const StepPath& path, std::size_t rank);

    /// No split has a shorter step time than this value.
    [[nodiscard]] std::int64_t bound() const;

private:
    const LayerSums& sums_;
    const std::vector<std::size_t>& rank_of_;
    std::int64_t comm_;
    std::size_t max_layers_; ///< larger numbers of layers per rank count as this number
    /// Minimum step time, by rank and number of layers on this rank.
    std::vector<std::vector<std::int64_t>> min_length_;
};

} // namespace bubblescope
