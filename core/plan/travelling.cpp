#include "core/plan/travelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace bubblescope::plan {
namespace {

constexpr double kWeightBytes = 2;   // bytes
constexpr double kGradientBytes = 4; // accumulated in 32 bits

TimeNs messageTime(double seconds) {
    return TimeNs{std::llround(seconds * 1e9)};
}

} // namespace

bool weightsTravel(std::string_view schedule) {
    return weightPathNamed(schedule).has_value();
}

Result<MovingWeights> travelOf(const Layout& layout, const Cluster& cluster) {
    const std::optional<WeightPath> path = weightPathNamed(layout.schedule);
    if (!path) return usageError(fmt::format("weights do not travel in {}", layout.schedule));
    if (layout.vpp > 1) return usageError(fmt::format("{} has one stage per rank", layout.schedule));
    if (layout.zero >= Zero::Gradients)
        return usageError(fmt::format("{} sends whole stages, which ZeRO 2 and 3 shard", layout.schedule));
    MovingWeights moving{*path, layout.pp, layout.microbatches, 1};
    if (*path != WeightPath::Nodes) return moving;
    const int beside = std::min(layout.pp, cluster.device.per_host / layout.stageRanks());
    if (beside < 2 || layout.pp % beside != 0)
        return usageError("tawpipe needs the same number of pipeline ranks on all hosts, and at least two",
                          "use fewer ranks per stage");
    moving.nodes = layout.pp / beside;
    return moving;
}

MovingWeightTimes travelTimes(const MovingWeights& moving, const Pipeline& pipeline, const Layout& layout,
                              const Cluster& cluster) {
    MovingWeightTimes times;
    for (const OpTimes& stage : pipeline.times) {
        times.forward.push_back(stage.forward);
        times.backward.push_back(stage.backward);
        times.weight_grad.push_back(stage.weight_grad);
    }
    const double weights = kWeightBytes * pipeline.largest_stage;
    const double gradients = kGradientBytes * pipeline.largest_stage;
    if (moving.path != WeightPath::Nodes) {
        const Links links = stageLinks(cluster, layout);
        times.weights = messageTime(links.send(weights));
        times.gradients = messageTime(links.send(gradients));
        return times;
    }
    Layout node = layout; // the ranks of one host
    node.pp = moving.ranksPerNode();
    const Links inside = stageLinks(cluster, node);
    times.weights = messageTime(inside.send(weights));
    times.gradients = messageTime(inside.send(gradients));
    // One rank of a host sends to one rank of another. Weight gradients take this path, too, and are larger.
    if (moving.nodes > 1)
        times.between_nodes = messageTime(
            cluster.network_latency + gradients / std::min(inside.rate, cluster.device.network * cluster.link_share));
    return times;
}

StageMemory travellingStates(const MemoryModel& stages) {
    StageMemory held;
    for (const StageMemory& stage : stages.stages) {
        held.weights = std::max(held.weights, 5 * stage.weights);
        held.gradients = std::max(held.gradients, 3 * stage.gradients);
        held.optimizer = std::max(held.optimizer, stage.optimizer);
    }
    return held;
}

} // namespace bubblescope::plan
