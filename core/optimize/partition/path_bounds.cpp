#include "core/optimize/partition/path_bounds.h"

#include <algorithm>

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

PathBounds::PathBounds(const LayerSums& sums, int stages, std::int64_t comm, std::size_t max_rows)
    : sums_(sums), stages_(stages), layers_(sums.layers()), comm_(comm), most_rows_(max_rows) {
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
        if (k == stages_ - 1) { // the last stage holds the rest
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

template <class Cost>
Cuts PathBounds::cheapestCuts(Cost cost) const {
    Cuts cuts{0};
    for (int k = 0; k + 1 < stages_; ++k) {
        const int from = cuts.back();
        int best = from + 1;
        for (int to = from + 1; to <= lastOf(k + 1); ++to) {
            if (cost(k, from, to) < cost(k, from, best)) best = to;
        }
        cuts.push_back(best);
    }
    cuts.push_back(layers_);
    return cuts;
}

Cuts PathBounds::bestSplit(std::size_t row) const {
    return cheapestCuts([&](int k, int from, int to) { return stagePart(row, k, from, to) + rest(row, k + 1, to); });
}

Cuts PathBounds::bestWorstStageSplit() const {
    return cheapestCuts([&](int k, int from, int to) { return worstStage(k, from, to); });
}

RankBounds::RankBounds(const LayerSums& sums, const std::vector<std::size_t>& rank_of_stage, std::int64_t comm)
    : sums_(sums), rank_of_(rank_of_stage), comm_(comm) {
    const std::size_t ranks = *std::ranges::max_element(rank_of_) + 1;
    // A rank with more than twice its share cannot be part of a good split.
    max_layers_ = 2 * (static_cast<std::size_t>(sums.layers()) / ranks + 1);
    min_length_.assign(ranks, std::vector<std::int64_t>(max_layers_ + 1, 0));
}

std::int64_t RankBounds::steps(int layers, const std::vector<std::size_t>& rank_of_stage) {
    const auto ranks = static_cast<std::int64_t>(*std::ranges::max_element(rank_of_stage)) + 1;
    const auto stages = static_cast<std::int64_t>(rank_of_stage.size());
    const std::int64_t spare = layers - stages + 1;
    return 3 * stages * spare * (ranks + spare / 2) * 2 * (layers / ranks + 1);
}

void RankBounds::add(const StepPath& path, std::size_t rank) {
    const auto stages = static_cast<int>(rank_of_.size());
    const int layers = sums_.layers();
    const auto width = max_layers_ + 1;
    const auto part = [&](int stage, int upto) {
        const StageDurations& counts = path.counts[static_cast<std::size_t>(stage)];
        const StageDurations& sum = sums_.upTo(upto);
        return counts[0] * sum[0] + counts[1] * sum[1] + counts[2] * sum[2];
    };
    // By first layer and the rank's layers from there on: the minimum contribution of the stages from `k` on.
    std::vector<std::int64_t> after((static_cast<std::size_t>(layers) + 1) * width, kNever);
    std::vector<std::int64_t> now(after.size());
    const auto cell = [width](int layer, std::size_t held) { return static_cast<std::size_t>(layer) * width + held; };
    after[cell(layers, 0)] = 0;
    for (int k = stages - 1; k >= 0; --k) {
        std::ranges::fill(now, kNever);
        const int last = layers - stages + k;
        if (rank_of_[static_cast<std::size_t>(k)] == rank) {
            for (int i = k == 0 ? 0 : last; i >= k; --i) {
                for (int j = i + 1; j <= last + 1; ++j) {
                    const std::int64_t own = part(k, j) - part(k, i);
                    for (std::size_t held = 0; held < width; ++held) {
                        const std::int64_t rest = after[cell(j, held)];
                        if (rest >= kNever) continue;
                        std::int64_t& best =
                            now[cell(i, std::min(max_layers_, held + static_cast<std::size_t>(j - i)))];
                        best = std::min(best, own + rest);
                    }
                }
            }
        } else {
            std::vector<std::int64_t> best(width, kNever);
            for (int i = last; i >= k; --i) {
                for (std::size_t held = 0; held < width; ++held) {
                    const std::int64_t rest = after[cell(i + 1, held)];
                    if (rest < kNever) best[held] = std::min(best[held], part(k, i + 1) + rest);
                    if (best[held] < kNever) now[cell(i, held)] = best[held] - part(k, i);
                }
            }
        }
        std::swap(now, after);
    }
    auto& min_length = min_length_[rank];
    for (std::size_t held = 0; held < width; ++held) {
        const std::int64_t value = after[cell(0, held)];
        min_length[held] = std::max(min_length[held], value >= kNever ? kNever : value + path.transfers * comm_);
    }
}

std::int64_t RankBounds::bound() const {
    // Lengths at which some rank may hold one more layer; find the first at which all layers fit.
    std::vector<std::int64_t> lengths;
    for (const auto& min_length : min_length_)
        lengths.insert(lengths.end(), min_length.begin(), min_length.end());
    std::ranges::sort(lengths);
    const auto roomAt = [this](std::int64_t length) {
        std::int64_t room = 0;
        for (const auto& min_length : min_length_) {
            std::size_t held = max_layers_;
            while (held > 0 && min_length[held] > length)
                --held;
            room += held == max_layers_ ? sums_.layers() : static_cast<std::int64_t>(held);
        }
        return room;
    };
    const auto enough =
        std::ranges::partition_point(lengths, [&](std::int64_t length) { return roomAt(length) < sums_.layers(); });
    return enough == lengths.end() ? 0 : *enough;
}

} // namespace bubblescope
