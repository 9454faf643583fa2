#pragma once

#include "core/base/result.h"
#include "core/schedule/families/registry.h"

#include <string_view>

namespace bubblescope {

// Listed by the registry in the order in which users see them.
[[nodiscard]] ScheduleFamily fThenBFamily();
[[nodiscard]] ScheduleFamily oneFOneBFamily();
[[nodiscard]] ScheduleFamily eager1F1BFamily();
[[nodiscard]] ScheduleFamily interleaved1F1BFamily();
[[nodiscard]] ScheduleFamily interleavedFThenBFamily();
[[nodiscard]] ScheduleFamily vppBalancedMemoryFamily();
[[nodiscard]] ScheduleFamily loopedBfsFamily();
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
[[nodiscard]] ScheduleFamily dualPipeVFamily();
[[nodiscard]] ScheduleFamily dualPipeFamily();
[[nodiscard]] ScheduleFamily chimeraFamily();
[[nodiscard]] ScheduleFamily bitPipeFamily();
[[nodiscard]] ScheduleFamily hanayoFamily();
[[nodiscard]] ScheduleFamily zbAutoFamily();

// Limits that closed forms share with the orders. Errors: Usage, naming sizes that fit.

[[nodiscard]] Status checkInterleavedOverlap(int p, int m, int v);
[[nodiscard]] Status checkDualPipeV(int p, int m);
[[nodiscard]] Status checkDualPipe(int p, int m);
/// Of Chimera and BitPipe, whose `name` the error gives.
[[nodiscard]] Status checkChimera(std::string_view name, int p, int m);

/// The flavors of interleaved 1F1B whose backwards are split: "sail-sg" and "paddle-static-split".
[[nodiscard]] bool isSplitInterleaved(std::string_view flavor);

} // namespace bubblescope
