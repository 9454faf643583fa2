#include "core/cost/partition.h"

#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {

namespace {

/// Larger numbers are typing mistakes and would exhaust the memory.
constexpr std::int64_t kMaxSplitLayers = 10'000'000;

} // namespace

std::vector<std::vector<int>> Partition::layers() const {
    std::vector<std::vector<int>> result;
    int next = 0;
    for (const int count : layers_per_stage) {
        auto& list = result.emplace_back();
        for (int i = 0; i < count; ++i)
            list.push_back(next++);
    }
    return result;
}

Result<Partition> partitionEvenly(int layers, int stages, int first_less, int last_less) {
    if (stages < 1)
        return usageError("there must be at least one stage",
                          fmt::format("set {} and {} to 1 or more", Field("pp"), Field("vpp")));
    if (first_less < 0 || last_less < 0) return usageError("the number of layers to remove from a stage is negative");
    const std::int64_t spread = std::int64_t{layers} + first_less + last_less;
    if (layers > kMaxSplitLayers || spread > kMaxSplitLayers) return usageError("more than 10 million layers");
    Partition partition;
    for (int stage = 0; stage < stages; ++stage) {
        const std::int64_t part = spread / stages + (stage < spread % stages ? 1 : 0);
        partition.layers_per_stage.push_back(static_cast<int>(part));
    }
    partition.layers_per_stage.front() -= first_less;
    partition.layers_per_stage.back() -= last_less;
    const auto shortest = std::ranges::min_element(partition.layers_per_stage);
    if (*shortest < 1) {
        return usageError(fmt::format("{} layers leave stage {} of {} empty", layers,
                                      shortest - partition.layers_per_stage.begin(), stages),
                          fmt::format("use more layers, fewer stages, or a smaller {} or {}", Field("first_less"),
                                      Field("last_less")));
    }
    return partition;
}

Result<Partition> partitionByRank(const std::vector<int>& layers_per_rank, int vpp, Placement placement) {
    if (vpp < 1)
        return usageError("there must be at least one chunk per rank",
                          fmt::format("set {} to 1 or more", Field("vpp")));
    const int pp = static_cast<int>(layers_per_rank.size());
    Partition partition;
    partition.layers_per_stage.resize(static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp));
    for (int rank = 0; rank < pp; ++rank) {
        const int count = layers_per_rank[Rank{rank}.index()];
        if (count > kMaxSplitLayers) return usageError("more than 10 million layers on a rank");
        if (count < vpp) {
            return usageError(fmt::format("rank {} has {} layers for its {} chunks", rank, count, vpp),
                              fmt::format("give each rank at least {}", vpp));
        }
        for (int chunk = 0; chunk < vpp; ++chunk) {
            const Stage stage = stageOf(placement, pp, Rank{rank}, Chunk{chunk});
            partition.layers_per_stage[stage.index()] = count / vpp + (chunk < count % vpp ? 1 : 0);
        }
    }
    return partition;
}

namespace {

OpTimes scaled(const OpTimes& times, TimeNs all_reduce, int before, int now) {
    const auto share = [&](TimeNs time) { return time * before / now; };
    OpTimes result{.forward = share(times.forward),
                   .backward = share(times.backward),
                   .input_grad = share(times.input_grad),
                   .weight_grad = {},
                   .optimizer = times.optimizer};
    // Rounding must not make a complete backward differ from the sum of its halves, except for the hidden all-reduce.
    result.weight_grad = result.backward + share(all_reduce) - result.input_grad;
    return result;
}

} // namespace

Result<CostModel> shareOfRanks(const CostModel& costs, const Schedule& order) {
    if (costs.stages.size() != order.ranks.size()) {
        return usageError(fmt::format("times are given for {} stages, but there are {} ranks", costs.stages.size(),
                                      order.ranks.size()),
                          "specify one set of times per rank, for its whole part of the model");
    }
    CostModel result = costs;
    result.times = scaled(costs.times, costs.all_reduce, 1, chunksOfModel(order));
    result.stages.clear();
    for (int stage = 0; stage < order.stages(); ++stage) {
        const Location at = locate(order.placement, order.pp, Stage{stage});
        result.stages.push_back(scaled(costs.stages[at.rank.index()], costs.all_reduce, 1, chunksOfModel(order)));
    }
    if (costs.overlapped) result.overlapped = *costs.overlapped / chunksOfModel(order);
    result.all_reduce = costs.all_reduce / chunksOfModel(order);
    return result;
}

Result<CostModel> recut(const CostModel& costs, int before, int now) {
    if (before == now) return costs;
    if (!costs.stages.empty()) {
        return usageError("times per stage apply to only one number of chunks per rank",
                          fmt::format("use {} and {} instead, or compare schedules with equal numbers of chunks",
                                      Field("forward"), Field("backward")));
    }
    CostModel result = costs;
    result.times = scaled(costs.times, costs.all_reduce, before, now);
    if (costs.overlapped) result.overlapped = *costs.overlapped * before / now;
    result.all_reduce = costs.all_reduce * before / now;
    return result;
}

} // namespace bubblescope
