#pragma once

#include "core/cost/devices.h"
#include "core/cost/memory_estimate.h"
#include "core/plan/layout.h"

#include <cstdint>

namespace bubblescope::plan {

/// The precision of the layers' matrix products. Attention, and the head, stay in 16 bits.
enum class Precision : std::uint8_t { Bits16, Fp8 };

/// Devices, and the fractions of their data sheets' rates that a training job achieves. The fractions are assumptions,
/// the same for all devices; resources/benchmarks/plan.md shows how accurate they are.
struct Cluster {
    DeviceSpec device;
    int devices = 1;
    Precision precision = Precision::Bits16;
    std::int64_t reserved = std::int64_t{4} << 30U; ///< bytes of context, communicators and fragmentation
    double product_share = 0.90;   ///< fraction of the peak rate of matrix products; the rest is lost to clocks,
                                   ///< launches and tails
    double attention_share = 0.60; ///< fraction of the peak rate of matrix products, in fused attention
    double memory_share = 0.80;    ///< fraction of the memory bandwidth, in element-wise ops
    double link_share = 0.75;      ///< fraction of the links' and the network's bandwidth, in collectives
    double link_latency = 8e-6;    ///< additional seconds per step of a collective
    double network_latency = 15e-6;
    double tensor_overlap = 0; ///< share of the tensor-parallel communication that overlaps with matrix products
    double expert_overlap = 0; ///< share of an op's other work behind which the exchange of tokens can hide
    bool sends_once = false;   ///< a token is sent once to each host with experts for it, as DeepEP does

    [[nodiscard]] double flops() const {
        return precision == Precision::Fp8 && device.flops_fp8 > 0 ? device.flops_fp8 : device.flops;
    }
    /// Bytes that a rank may use.
    [[nodiscard]] std::int64_t budget() const { return device.memory - reserved; }
};

/// A group of ranks that communicate: its bytes per second and rank, and the latency of one step.
struct Links {
    int ranks = 1;
    double rate = 0;
    double latency = 0;
    int beside = 1;         ///< ranks of the group on each host
    double inside_rate = 0; ///< of the links within a host
    double own_rate = 0;    ///< of a rank's own adapter

    /// Seconds of a ring all-gather after which each rank has `bytes`, or of a ring reduce-scatter before which it has
    /// them.
    [[nodiscard]] double gather(double bytes) const {
        if (ranks == 1) return 0;
        return (ranks - 1) * (latency / ranks + bytes / ranks / rate) + latency;
    }
    /// Seconds of an all-to-all in which each rank sends `bytes`: its tokens to k experts each, which are spread evenly
    /// over the ranks. Messages within a host and between hosts are sent at the same time. `once`: a token is sent once
    /// to each host that needs it and copied there, as DeepEP does.
    [[nodiscard]] double exchange(double bytes, double k, bool once) const;
    /// Seconds that a message takes.
    [[nodiscard]] double send(double bytes) const { return latency + bytes / rate; }
};

/// The links of a layout's groups. A group within a host uses the links, all others the network; a ring with several
/// ranks on each host uses the same number of adapters.
[[nodiscard]] Links tensorLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links contextLinks(const Cluster& cluster, const Layout& layout);
/// Links between the ranks that hold the same weights (dp and cp).
[[nodiscard]] Links dataLinks(const Cluster& cluster, const Layout& layout);
/// Links between the ranks that divide the experts, and between those that hold the same ones.
[[nodiscard]] Links expertLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links expertDataLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links stageLinks(const Cluster& cluster, const Layout& layout);

} // namespace bubblescope::plan
