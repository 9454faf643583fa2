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

/// A schedule with the names, sizes and placement of the spec, but without ops.
[[nodiscard]] inline Schedule emptySchedule(const ScheduleSpec& spec, Placement placement) {
    return {.name = spec.name,
            .flavor = spec.flavor,
            .pp = spec.pp,
            .microbatches = spec.microbatches,
            .vpp = spec.vpp,
            .placement = placement,
            .ranks = {}};
}

/// Rejects more than one chunk per rank; `instead` lists families that support several chunks. Errors: Usage.
[[nodiscard]] inline Status requireOneChunk(const ScheduleSpec& spec, std::string_view instead = {}) {
    if (spec.vpp == 1) return {};
    return usageError(fmt::format("{} has one chunk per rank, not {}", spec.name, spec.vpp),
                      instead.empty() ? fmt::format("omit {}", Field("vpp"))
                                      : fmt::format("omit {}, or use {}", Field("vpp"), instead));
}

/// Rejects more than two chunks per rank; the family uses two even if the spec has the default of one. Errors: Usage.
[[nodiscard]] inline Status requireTwoChunks(const ScheduleSpec& spec) {
    if (spec.vpp <= 2) return {};
    return usageError(fmt::format("{} has 2 chunks per rank, not {}", spec.name, spec.vpp),
                      fmt::format("omit {}", Field("vpp")));
}

/// Builds a rank's list in the usual form: `warmup` forwards, then alternating forwards and backwards, then the
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

// Families in the display order of the registry.
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

// Checks limits that apply to both the closed forms and the orders. Errors: Usage; the hint suggests valid sizes.

[[nodiscard]] Status checkInterleavedOverlap(int p, int m, int v);
[[nodiscard]] Status checkCircular(int p, int m);
[[nodiscard]] Status checkDualPipeV(int p, int m);
[[nodiscard]] Status checkDualPipe(int p, int m);
[[nodiscard]] Status checkStp(int p, int m);
/// Checks the limits of Chimera and BitPipe; `name` is used in the error.
[[nodiscard]] Status checkChimera(std::string_view name, int p, int m);

/// True for the flavors of interleaved 1F1B with split backwards, "sail-sg" and "paddle-static-split".
[[nodiscard]] bool isSplitInterleaved(std::string_view flavor);

} // namespace bubblescope
