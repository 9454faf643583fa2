#pragma once

#include "core/base/field.h"
#include "core/base/result.h"
#include "core/families/registry.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The spec's schedule without ops: names, sizes and placement.
[[nodiscard]] inline Schedule emptySchedule(const ScheduleSpec& spec, Placement placement) {
    return {.name = spec.name,
            .flavor = spec.flavor,
            .pp = spec.pp,
            .microbatches = spec.microbatches,
            .vpp = spec.vpp,
            .placement = placement,
            .ranks = {}};
}

/// Rejects more than one chunk per rank; `instead` names families that support several. Errors: Usage.
[[nodiscard]] inline Status requireOneChunk(const ScheduleSpec& spec, std::string_view instead = {}) {
    if (spec.vpp == 1) return {};
    return usageError(fmt::format("{} has one chunk per rank, not {}", spec.name, spec.vpp),
                      instead.empty() ? fmt::format("leave {} out", Field("vpp"))
                                      : fmt::format("leave {} out, or use {}", Field("vpp"), instead));
}

/// Rejects more than two chunks per rank, for families that always have two; one is the default. Errors: Usage.
[[nodiscard]] inline Status requireTwoChunks(const ScheduleSpec& spec) {
    if (spec.vpp <= 2) return {};
    return usageError(fmt::format("{} has 2 chunks per rank, not {}", spec.name, spec.vpp),
                      fmt::format("leave {} out", Field("vpp")));
}

/// Builds a rank's list of the usual shape: `warmup` forwards, then forwards and backwards in alternation, then the
/// remaining backwards. `forward(k)` and `backward(k)` return the k-th op of each kind, k < count.
template <class Forward, class Backward>
[[nodiscard]] std::vector<Op> phaseOrder(int count, int warmup, Forward forward, Backward backward) {
    std::vector<Op> ops;
    ops.reserve(2 * static_cast<std::size_t>(count));
    for (int k = 0; k < warmup; ++k)
        ops.push_back(forward(k));
    for (int k = warmup; k < count; ++k) {
        ops.push_back(forward(k));
        ops.push_back(backward(k - warmup));
    }
    for (int k = count - warmup; k < count; ++k)
        ops.push_back(backward(k));
    return ops;
}

// In the registry's display order.
[[nodiscard]] ScheduleFamily fThenBFamily();
[[nodiscard]] ScheduleFamily oneFOneBFamily();
[[nodiscard]] ScheduleFamily eager1F1BFamily();
[[nodiscard]] ScheduleFamily interleaved1F1BFamily();
[[nodiscard]] ScheduleFamily interleavedFThenBFamily();
[[nodiscard]] ScheduleFamily vppBalancedMemoryFamily();
[[nodiscard]] ScheduleFamily loopedBfsFamily();
[[nodiscard]] ScheduleFamily circularFamily();
[[nodiscard]] ScheduleFamily zbH1Family();
[[nodiscard]] ScheduleFamily zbH2Family();
[[nodiscard]] ScheduleFamily interleavedZbFamily();
[[nodiscard]] ScheduleFamily zbVFamily();
[[nodiscard]] ScheduleFamily vHalfFamily();
[[nodiscard]] ScheduleFamily vMinFamily();
[[nodiscard]] ScheduleFamily v1F1BFamily();
[[nodiscard]] ScheduleFamily oneFOneBOverlapFamily();
[[nodiscard]] ScheduleFamily interleavedOverlapFamily();
[[nodiscard]] ScheduleFamily seq1F1BFamily();
[[nodiscard]] ScheduleFamily seqPipeFamily();
[[nodiscard]] ScheduleFamily seqVppFamily();
[[nodiscard]] ScheduleFamily seqSmartVppFamily();
[[nodiscard]] ScheduleFamily dualPipeVFamily();
[[nodiscard]] ScheduleFamily dualPipeFamily();
[[nodiscard]] ScheduleFamily stpFamily();
[[nodiscard]] ScheduleFamily chimeraFamily();
[[nodiscard]] ScheduleFamily bitPipeFamily();
[[nodiscard]] ScheduleFamily hanayoFamily();
[[nodiscard]] ScheduleFamily zbAutoFamily();
[[nodiscard]] ScheduleFamily pipeDream2BwFamily();
[[nodiscard]] ScheduleFamily pipeDreamFamily();

// Limits that closed forms share with the orders. Errors: Usage, suggesting sizes that fit.

[[nodiscard]] Status checkInterleavedOverlap(int p, int m, int v);
[[nodiscard]] Status checkCircular(int p, int m);
[[nodiscard]] Status checkDualPipeV(int p, int m);
[[nodiscard]] Status checkDualPipe(int p, int m);
[[nodiscard]] Status checkStp(int p, int m);
/// Limits of Chimera and BitPipe; `name` is used in the error.
[[nodiscard]] Status checkChimera(std::string_view name, int p, int m);

/// True for a flavor of interleaved 1F1B with split backwards: "sail-sg" or "paddle-static-split".
[[nodiscard]] bool isSplitInterleaved(std::string_view flavor);

} // namespace bubblescope
