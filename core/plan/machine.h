#pragma once

#include "core/cost/devices.h"
#include "core/cost/memory_estimate.h"
#include "core/plan/layout.h"

#include <cstdint>

namespace bubblescope::plan {

/// Precision of the matrix products in layers. Attention and the head always use 16 bits.
enum class Precision : std::uint8_t { Bits16, Fp8 };

/// Devices, and the fractions of their data-sheet rates that a training job achieves. These fractions are assumptions
/// and are equal for all devices; resources/benchmarks/plan.md shows their accuracy.
struct Cluster {
    DeviceSpec device;
    int devices = 1;
    Precision precision = Precision::Bits16;
    std::int64_t reserved = std::int64_t{4} << 30U; ///< memory in bytes for contexts, communicators and fragmentation
    double product_share = 0.90;   ///< achieved fraction of the peak rate of matrix products, below 1 because of lower
                                   ///< clocks, launches and tails
    double attention_share = 0.60; ///< achieved fraction of the peak rate of matrix products in fused attention
    double memory_share = 0.80;    ///< achieved fraction of the memory bandwidth in element-wise ops
    double link_share = 0.75;      ///< achieved fraction of link and network bandwidth in collectives
    double link_latency = 8e-6;    ///< additional seconds for each step of a collective
    double network_latency = 15e-6;
    double tensor_overlap = 0; ///< fraction of the tensor-parallel communication that overlaps with matrix products
    double expert_overlap = 0; ///< fraction of an op's other work that can hide the token exchange
    bool sends_once = false;   ///< a token is sent once to each host that has experts for it, as in DeepEP

    [[nodiscard]] double flops() const {
        return precision == Precision::Fp8 && device.flops_fp8 > 0 ? device.flops_fp8 : device.flops;
    }
    /// Memory available to a rank, in bytes.
    [[nodiscard]] std::int64_t budget() const { return device.memory - reserved; }
};

/// Links of a group of communicating ranks: bytes per second per rank, and latency of one step.
struct Links {
    int ranks = 1;
    double rate = 0;
    double latency = 0;
    int beside = 1;         ///< number of the group's ranks on each host
    double inside_rate = 0; ///< rate of the links within a host
    double own_rate = 0;    ///< rate of the rank's own network adapter

    /// Time in seconds of a ring all-gather after which each rank has `bytes`, or of a ring reduce-scatter of `bytes`
    /// per rank.
    [[nodiscard]] double gather(double bytes) const {
        if (ranks == 1) return 0;
        return (ranks - 1) * (latency / ranks + bytes / ranks / rate) + latency;
    }
    /// Time in seconds of an all-to-all in which each rank sends `bytes`: each of its tokens goes to k experts, which
    /// are spread evenly over the ranks. Messages within a host and between hosts overlap. `once`: a token is sent once
    /// to each host that needs it and is copied there, as in DeepEP.
    [[nodiscard]] double exchange(double bytes, double k, bool once) const;
    /// Time in seconds to send a message.
    [[nodiscard]] double send(double bytes) const { return latency + bytes / rate; }
};

/// Links of the groups in a layout. A group within one host uses the host's links; all other groups use the network,
/// where a ring with n ranks per host uses n adapters per host.
[[nodiscard]] Links tensorLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links contextLinks(const Cluster& cluster, const Layout& layout);
/// Links between the ranks that hold the same non-expert weights (dp and cp).
[[nodiscard]] Links dataLinks(const Cluster& cluster, const Layout& layout);
/// Links between the ranks that share the experts, and between those that hold the same experts.
[[nodiscard]] Links expertLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links expertDataLinks(const Cluster& cluster, const Layout& layout);
[[nodiscard]] Links stageLinks(const Cluster& cluster, const Layout& layout);

} // namespace bubblescope::plan
