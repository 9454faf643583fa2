#include "core/plan/machine.h"

#include <algorithm>
#include <cmath>

namespace bubblescope::plan {
namespace {

/// A group of `ranks` whose neighbours are `stride` devices apart.
Links links(const Cluster& cluster, int ranks, int stride) {
    const DeviceSpec& device = cluster.device;
    Links made;
    made.ranks = ranks;
    made.beside = std::clamp(device.per_host / stride, 1, ranks);
    made.inside_rate = device.link * cluster.link_share;
    made.own_rate = device.network * cluster.link_share;
    if (ranks * stride <= device.per_host) {
        made.rate = made.inside_rate;
        made.latency = cluster.link_latency;
        return made;
    }
    made.rate = std::min(made.inside_rate, made.own_rate * made.beside);
    made.latency = cluster.network_latency;
    return made;
}

} // namespace

double Links::exchange(double bytes, double k, bool once) const {
    if (ranks == 1) return 0;
    const double on_host = beside;
    const double hosts = ranks / on_host;
    double remote = (hosts - 1) / hosts;
    double local = (on_host - 1) / ranks;
    if (once) {
        const double needed = 1 - std::pow(1 - 1 / hosts, k); // probability that a host has one of the k experts
        remote = (hosts - 1) * needed / k;
        local = (on_host - 1) / on_host;
    }
    return 2 * latency + bytes * std::max(local / inside_rate, remote / own_rate);
}

Links tensorLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.tp, 1);
}

Links contextLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.cp, layout.tp);
}

Links dataLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.sharers(), layout.tp);
}

Links expertLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.ep, 1);
}

Links expertDataLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.expertSharers(), layout.ep);
}

Links stageLinks(const Cluster& cluster, const Layout& layout) {
    return links(cluster, layout.pp, layout.tp * layout.cp * layout.dp);
}

} // namespace bubblescope::plan
