// ZB-V (Qi et al., 2024): two chunks per rank along a V, so that the first rank holds the first and the last stage and
// gets its gradients early; backwards are split into input and weight gradients, and the latter fill idle time.
// Flavors:
//   greedy       weight gradients where the times leave room, within a memory limit (zb_v_greedy.cpp)
//   handcrafted  one fixed pattern, independent of the times; torch has the same
//   paddle       also greedy, for any number of chunks, and with the time of the loss (zb_v_paddle.cpp)
//
// The fixed pattern on rank s, where 0 and 1 are the chunks: 2(p−s)−1 times F0, s times F1 F0, p−s times F1 I1 W1, then
// F0 I0 W0 F1 I1 W1 until the forwards run out (F0 first, its I0 W0 continue), s times I0 I1, p−s times I0 W0, and the
// remaining weight gradients, chunk 1's before chunk 0's. With fewer than 2p−1 micro-batches the order is that of 2p−1
// without the ops of the missing ones.

#include "core/families/families.h"
#include "core/families/timed_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// A rank's list under construction. Each kind and chunk takes the micro-batches in order; those from m on are omitted.
class FixedRank {
public:
    explicit FixedRank(int microbatches) : m_(microbatches) { ops_.reserve(6 * static_cast<std::size_t>(m_)); }

    void add(OpKind kind, int chunk) {
        const int microbatch = next(kind, chunk)++;
        if (microbatch < m_) ops_.push_back({kind, Microbatch{microbatch}, Chunk{chunk}});
    }
    void forward(int chunk) { add(OpKind::Forward, chunk); }
    void backward(int chunk) {
        add(OpKind::BackwardInput, chunk);
        add(OpKind::BackwardWeight, chunk);
    }
    /// Adds all weight gradients of a chunk whose input gradients have run.
    void finish(int chunk) {
        while (next(OpKind::BackwardWeight, chunk) < next(OpKind::BackwardInput, chunk))
            add(OpKind::BackwardWeight, chunk);
    }
    int& next(OpKind kind, int chunk) { return next_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(chunk)]; }
    std::vector<Op> take() { return std::move(ops_); }

private:
    int m_;
    std::vector<Op> ops_;
    std::array<std::array<int, 2>, 4> next_{};
};

std::vector<Op> fixedOrder(int p, int m, int s) {
    const int planned = std::max(m, 2 * p - 1);
    FixedRank rank(m);
    for (int k = 0; k < 2 * (p - s) - 1; ++k)
        rank.forward(0);
    for (int k = 0; k < s; ++k) {
        rank.forward(1);
        rank.forward(0);
    }
    for (int k = 0; k < p - s; ++k) {
        rank.forward(1);
        rank.backward(1);
    }
    while (rank.next(OpKind::Forward, 1) < planned) {
        if (rank.next(OpKind::Forward, 0) < planned) rank.forward(0);
        rank.backward(0);
        rank.forward(1);
        rank.backward(1);
    }
    for (int k = 0; k < s; ++k) {
        rank.add(OpKind::BackwardInput, 0);
        rank.add(OpKind::BackwardInput, 1);
    }
    for (int k = 0; k < p - s; ++k)
        rank.backward(0);
    rank.finish(1);
    rank.finish(0);
    return rank.take();
}

Result<Schedule> generateGreedy(const ScheduleSpec& spec) {
    // As much as 1F1B holds on its first rank: p micro-batches, each with two chunks.
    const int limit = spec.memory_limit > 0 ? spec.memory_limit : 2 * spec.pp;
    auto ranks = zbVGreedyOrder(spec, limit * spec.sizes.forward);
    if (!ranks) {
        return usageError(
            fmt::format("zb-v (greedy) does not fit into {} activations on {} ranks", limit, spec.pp),
            fmt::format("use {} or more, or switch to v-half or v-min", Field("memory_limit").is(2 * spec.pp)));
    }
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = std::move(*ranks);
    return schedule;
}

Result<Schedule> generatePaddle(const ScheduleSpec& spec) {
    if (spec.vpp < 2) {
        return usageError(fmt::format("zb-v (paddle) needs at least 2 chunks per rank, not {}", spec.vpp),
                          fmt::format("specify {}", Field("vpp").is(2)));
    }
    auto ranks =
        spec.memory_limit > 0 ? zbVPaddleOrder(spec, spec.memory_limit * spec.sizes.forward) : zbVPaddleOrder(spec);
    if (!ranks) {
        return usageError(
            fmt::format("zb-v (paddle) does not fit into {} activations on {} ranks", spec.memory_limit, spec.pp),
            fmt::format("use a larger {}, or omit it", Field("memory_limit")));
    }
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = std::move(*ranks);
    return schedule;
}

Result<Schedule> generateZbV(const ScheduleSpec& spec) {
    if (spec.flavor == "paddle") return generatePaddle(spec);
    if (spec.vpp != 2)
        return usageError(fmt::format("zb-v has 2 chunks per rank, not {}", spec.vpp),
                          fmt::format("specify {}", Field("vpp").is(2)));
    if (spec.flavor == "greedy") return generateGreedy(spec);
    if (spec.memory_limit > 0) {
        return usageError(
            fmt::format("zb-v ({}) has a fixed order and does not support {}", spec.flavor, Field("memory_limit")),
            fmt::format("omit {}, or use {}", Field("memory_limit"), Field("flavor").is("greedy")));
    }
    Schedule schedule = emptySchedule(spec, Placement::V);
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(fixedOrder(spec.pp, spec.microbatches, s));
    return schedule;
}

} // namespace

ScheduleFamily zbVFamily() {
    return {
        .name = "zb-v",
        .title = "ZB-V",
        .flavors = {"greedy", "handcrafted", "torch", "paddle"},
        .placement = Placement::V,
        .limits =
            "m ≥ 1, v = 2 (paddle: 2 or more); greedy: memory limit 2p (default) or more; paddle: any sufficient limit",
        .uses = {{SpecPart::MemoryLimit, {"greedy", "paddle"}}, {SpecPart::ActivationSizes, {"greedy", "paddle"}}},
        .generate = generateZbV};
}

} // namespace bubblescope
