#pragma once

#include "core/schedule/families/registry.h"

namespace bubblescope {

// Each is defined in the file of its name; the registry lists them in the order people should see.
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

} // namespace bubblescope
