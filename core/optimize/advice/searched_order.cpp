#include "core/optimize/advice/searched_order.h"

#include "core/graph/validate.h"
#include "core/optimize/partition/optimise.h"
#include "core/optimize/search/search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kMostSearchedOps = 60'000;
constexpr int kRounds = 2;     ///< limited so that small problems have the same result on any machine
constexpr int kMostSplits = 4; ///< each follows from an order found for the previous one
constexpr double kLeastStep = 0.001;
constexpr std::int64_t kSplitEffort = 20'000'000; ///< a fraction of a second

class AlternatingSearch {
public:
    AlternatingSearch(const MeanPipeline& pipeline, const Schedule& order, MemoryLimits limits, TimeNs time,
                      const JobControl& control)
        : pipeline_(pipeline), order_(order), limits_(std::move(limits)), time_(time), control_(control) {}

    /// Searches for an order for one split of the layers; none = today's split. Empty if no order is found.
    Result<std::optional<SearchedChange>> search(const std::vector<int>& layers) {
        SearchedChange result;
        result.change.layers = layers;
        SearchRequest request;
        request.pp = order_.pp;
        request.microbatches = order_.microbatches;
        request.vpp = order_.vpp;
        request.placements = {order_.placement};
        request.costs = pipeline_.costs(order_, result.change);
        request.activations = limits_.activations;
        request.stages = limits_.model;
        request.bytes = limits_.bytes;
        request.rounds = kRounds;
        request.time_limit = time_;
        Result<FoundOrder> found = searchOrder(request, control_);
        if (!found.ok() && found.error().kind == ErrorKind::Cancelled) return found.error();
        if (!found.ok()) return std::optional<SearchedChange>{};
        const FoundOrder& best = found.value();
        result.known = {best.makespan, best.bound, best.reason, best.proven, best.rounds};
        result.change.order = std::make_shared<const Schedule>(best.schedule);
        return std::optional(std::move(result));
    }

    /// The best split for an order; empty if it equals `layers`.
    [[nodiscard]] std::vector<int> split(const SearchedChange& found, const std::vector<int>& layers) const {
        std::vector<Layer> times;
        for (const OpTimes& each : pipeline_.layerTimes(found.change))
            times.push_back({"", each, 0});
        PartitionOptions options;
        options.comm = pipeline_.costs(order_, found.change).comm;
        options.effort = kSplitEffort;
        const auto best = optimisePartition(*found.change.order, times, options);
        if (!best.ok() || best.value().best.partition.layers_per_stage == layers) return {};
        return best.value().best.partition.layers_per_stage;
    }

private:
    const MeanPipeline& pipeline_;
    const Schedule& order_;
    MemoryLimits limits_;
    TimeNs time_;
    const JobControl& control_;
};

bool canBeSearched(const Schedule& order) {
    return routes(order.placement) == 1 && encodersOf(order.placement).ranks() == 0 &&
           order.opCount() <= kMostSearchedOps && std::ranges::none_of(order.ranks, [](const std::vector<Op>& ops) {
               return std::ranges::any_of(ops, [](const Op& op) { return op.overlapped || op.sequence > 0; });
           });
}

} // namespace

Result<std::vector<SearchedChange>> searchOrdersAndSplits(const MeanPipeline& pipeline, const Schedule& order,
                                                          const ModelCut& cut, TimeNs time, const JobControl& control) {
    std::vector<SearchedChange> changes;
    if (!canBeSearched(order)) return changes;
    AlternatingSearch searches(pipeline, order, {.activations = peakActivations(order)}, time, control);
    BUBBLESCOPE_ASSIGN(std::optional<SearchedChange> found, searches.search({}));
    if (!found) return changes;
    changes.push_back(*found);
    if (cut.layers.empty()) return changes;
    SearchedChange best = std::move(*found);
    std::vector<int> layers = cut.layers;
    for (int i = 0; i < kMostSplits; ++i) {
        layers = searches.split(best, layers);
        if (layers.empty()) break;
        BUBBLESCOPE_ASSIGN(std::optional<SearchedChange> next, searches.search(layers));
        if (!next || fractionOf(best.known.makespan - next->known.makespan, best.known.makespan) < kLeastStep) break;
        best = std::move(*next);
    }
    if (!best.change.layers.empty()) changes.push_back(std::move(best));
    return changes;
}

Result<std::optional<SearchedChange>> searchOrderWithin(const MeanPipeline& pipeline, const Schedule& order,
                                                        MemoryLimits limits, TimeNs time, const JobControl& control) {
    if (!canBeSearched(order)) return std::optional<SearchedChange>{};
    return AlternatingSearch(pipeline, order, std::move(limits), time, control).search({});
}

} // namespace bubblescope
