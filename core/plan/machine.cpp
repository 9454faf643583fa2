#include "core/plan/machine.h"

#include <algorithm>

namespace bubblescope::plan {
namespace {

/// A group of `ranks` whose neighbours are `stride` devices apart.
Links links(const Cluster& cluster, int ranks, int stride) {
    const DeviceSpec& device = cluster.device;
    Links made;
    made.ranks = ranks;
    if (ranks * stride <= device.per_host) {
        made.rate = device.link * cluster.link_share;
        made.latency = cluster.link_latency;
        return made;
    }
    const int beside = std::max(1, device.per_host / stride);
    made.rate = std::min(device.link, device.network * beside) * cluster.link_share;
    made.latency = cluster.network_latency;
    return made;
}

} // namespace

Links tensorLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.tp, 1);
}

Links contextLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.cp, layout.tp);
}

Links dataLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.cp * layout.dp, layout.tp);
}

Links stageLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.pp, layout.tp * layout.cp * layout.dp);
}

} // namespace bubblescope::plan
