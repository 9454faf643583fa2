#include "core/optimize/partition/path_bounds.h"

#include <algorithm>
#include <limits>

namespace bubblescope {
namespace {

std::int64_t dividedUp(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
}

} // namespace

LayerSums::LayerSums(const std::vector<StageDurations>& layers) : sums_(layers.size() + 1) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        for (std::size_t kind = 0; kind < 3; ++kind)
            sums_[i + 1][kind] = sums_[i][kind] + layers[i][kind];
    }
}

StageDurations LayerSums::of(int from, int to) const {
    StageDurations times{};
    for (std::size_t kind = 0; kind < 3; ++kind)
        times[kind] = upTo(to)[kind] - upTo(from)[kind];
    return times;
}

std::vector<StageDurations> LayerSums::stageTimes(const Cuts& cuts) const {
    std::vector<StageDurations> times;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
        times.push_back(of(cuts[k], cuts[k + 1]));
    return times;
}

PathBounds::PathBounds(const LayerSums& sums, int stages, std::int64_t comm, std::size_t most_rows)
    : sums_(sums), stages_(stages), layers_(sums.layers()), comm_(comm), most_rows_(most_rows) {
    const std::size_t cells = at(stages_, layers_) + 1;
    part_.resize(cells * most_rows_);
    rest_.resize(cells * most_rows_, kNever);
    before_.resize(cells * most_rows_, kNever);
}

std::size_t PathBounds::runAt(int stage, int from, int to) const {
    const auto width = static_cast<std::size_t>(layers_ - stages_ + 1);
    const auto row = static_cast<std::size_t>(stage) * width + static_cast<std::size_t>(from - stage);
    return row * width + static_cast<std::size_t>(to - stage - 1);
}

void PathBounds::add(const StepPath& path, std::int64_t count) {
    if (rows_ == most_rows_) return;
    const std::size_t row = rows_++;
    fixed_.push_back(path.transfers * comm_);
    counts_.push_back(count);
    for (int k = 0; k < stages_; ++k) {
        const StageDurations& counts = path.counts[static_cast<std::size_t>(k)];
        for (int i = 0; i <= layers_; ++i) {
            const StageDurations& sum = sums_.upTo(i);
            part_[at(k, i) * most_rows_ + row] = counts[0] * sum[0] + counts[1] * sum[1] + counts[2] * sum[2];
        }
    }
    const auto part = [&](int k, int i) { return part_[at(k, i) * most_rows_ + row]; };
    rest_[at(stages_, layers_) * most_rows_ + row] = 0;
    for (int k = stages_ - 1; k >= 0; --k) {
        std::int64_t best = kNever;
        for (int i = lastOf(k); i >= firstOf(k); --i) {
            if (i + 1 <= lastOf(k + 1)) {
                const std::int64_t after = rest_[at(k + 1, i + 1) * most_rows_ + row];
                if (after < kNever) best = std::min(best, part(k, i + 1) + after);
            }
            rest_[at(k, i) * most_rows_ + row] = best == kNever ? kNever : best - part(k, i);
        }
        if (k == stages_ - 1) { // the last stage holds all that is left
            for (int i = firstOf(k); i <= lastOf(k); ++i)
                rest_[at(k, i) * most_rows_ + row] = part(k, layers_) - part(k, i);
        }
    }
    before_[at(0, 0) * most_rows_ + row] = 0;
    for (int k = 0; k < stages_; ++k) {
        std::int64_t best = kNever;
        for (int j = firstOf(k + 1); j <= lastOf(k + 1); ++j) {
            const std::int64_t earlier = j - 1 <= lastOf(k) ? before_[at(k, j - 1) * most_rows_ + row] : kNever;
            if (earlier < kNever) best = std::min(best, earlier - part(k, j - 1));
            before_[at(k + 1, j) * most_rows_ + row] = best == kNever ? kNever : best + part(k, j);
        }
    }
}

std::int64_t PathBounds::worstStage(int stage, int from, int to) const {
    return std::max(runs_[runAt(stage, from, to)], worst_[at(stage + 1, to)]);
}

void PathBounds::updateWorstStages() {
    runs_.resize(runAt(stages_ - 1, layers_, layers_) + 1);
    worst_.resize(at(stages_, layers_) + 1);
    for (int k = stages_ - 1; k >= 0; --k) {
        const int from_end = k == 0 ? 0 : lastOf(k);
        for (int i = firstOf(k); i <= from_end; ++i) {
            std::int64_t best = kNever;
            const int to_begin = k == stages_ - 1 ? layers_ : i + 1;
            for (int j = to_begin; j <= lastOf(k + 1); ++j) {
                std::int64_t& run = runs_[runAt(k, i, j)];
                const std::int64_t* const before = &before_[at(k, i) * most_rows_];
                const std::int64_t* const from = &part_[at(k, i) * most_rows_];
                const std::int64_t* const to = &part_[at(k, j) * most_rows_];
                const std::int64_t* const rest = &rest_[at(k + 1, j) * most_rows_];
                for (std::size_t row = rows_in_worst_; row < rows_; ++row) {
                    const std::int64_t value = fixed_[row] + before[row] + to[row] - from[row] + rest[row];
                    run = std::max(run, dividedUp(value, counts_[row]));
                }
                best = std::min(best, std::max(run, worst_[at(k + 1, j)]));
            }
            worst_[at(k, i)] = best;
        }
    }
    rows_in_worst_ = rows_;
}

std::int64_t PathBounds::bound(std::size_t row) const {
    return dividedUp(fixed_[row] + rest(row, 0, 0), counts_[row]);
}

Cuts PathBounds::bestSplit(std::size_t row) const {
    Cuts cuts{0};
    for (int k = 0; k + 1 < stages_; ++k) {
        const int from = cuts.back();
        int best = from + 1;
        for (int to = from + 1; to <= lastOf(k + 1); ++to) {
            if (stagePart(row, k, from, to) + rest(row, k + 1, to) <
                stagePart(row, k, from, best) + rest(row, k + 1, best)) {
                best = to;
            }
        }
        cuts.push_back(best);
    }
    cuts.push_back(layers_);
    return cuts;
}

Cuts PathBounds::bestWorstStageSplit() const {
    Cuts cuts{0};
    for (int k = 0; k + 1 < stages_; ++k) {
        const int from = cuts.back();
        int best = from + 1;
        for (int to = from + 1; to <= lastOf(k + 1); ++to) {
            if (worstStage(k, from, to) < worstStage(k, from, best)) best = to;
        }
        cuts.push_back(best);
    }
    cuts.push_back(layers_);
    return cuts;
}

} // namespace bubblescope
