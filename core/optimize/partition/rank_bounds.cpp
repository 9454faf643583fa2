#include "core/optimize/partition/rank_bounds.h"

#include <algorithm>
#include <limits>

namespace bubblescope {
RankBounds::RankBounds(const LayerSums& sums, const std::vector<std::size_t>& rank_of_stage, std::int64_t comm)
    : sums_(sums), rank_of_(rank_of_stage), comm_(comm) {
    const std::size_t ranks = *std::ranges::max_element(rank_of_) + 1;
    // Beyond twice its part a rank is far too long anyway.
    most_ = 2 * (static_cast<std::size_t>(sums.layers()) / ranks + 1);
    least_.assign(ranks, std::vector<std::int64_t>(most_ + 1, 0));
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
    const auto width = most_ + 1;
    const auto part = [&](int stage, int upto) {
        const StageDurations& counts = path.counts[static_cast<std::size_t>(stage)];
        const StageDurations& sum = sums_.upTo(upto);
        return counts[0] * sum[0] + counts[1] * sum[1] + counts[2] * sum[2];
    };
    // By first layer and the rank's layers from there on: the least contribution of the stages from `k` on.
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
                        std::int64_t& best = now[cell(i, std::min(most_, held + static_cast<std::size_t>(j - i)))];
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
    auto& least = least_[rank];
    for (std::size_t held = 0; held < width; ++held) {
        const std::int64_t value = after[cell(0, held)];
        least[held] = std::max(least[held], value >= kNever ? kNever : value + path.transfers * comm_);
    }
}

std::int64_t RankBounds::bound() const {
    // Lengths at which some rank may hold one layer more; the first at which all layers fit.
    std::vector<std::int64_t> lengths;
    for (const auto& least : least_)
        lengths.insert(lengths.end(), least.begin(), least.end());
    std::ranges::sort(lengths);
    const auto roomAt = [this](std::int64_t length) {
        std::int64_t room = 0;
        for (const auto& least : least_) {
            std::size_t held = most_;
            while (held > 0 && least[held] > length)
                --held;
            room += held == most_ ? sums_.layers() : static_cast<std::int64_t>(held);
        }
        return room;
    };
    const auto enough =
        std::ranges::partition_point(lengths, [&](std::int64_t length) { return roomAt(length) < sums_.layers(); });
    return enough == lengths.end() ? 0 : *enough;
}

} // namespace bubblescope
