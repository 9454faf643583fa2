#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <array>
#include <string_view>

namespace bubblescope {

// Schedules in which stages do not belong to ranks (core/graph/moving_stages.h, core/graph/moving_weights.h). They are
// not in the registry of families, because their orders assign no stage to a rank.
inline constexpr std::string_view kRoundPipe = "roundpipe";
inline constexpr std::string_view kWeiPipe = "weipipe";
inline constexpr std::string_view kWeiPipeNaive = "weipipe-naive";
inline constexpr std::string_view kWeiPipeZb = "weipipe-zb";
inline constexpr std::string_view kTawPipe = "tawpipe";
inline constexpr std::array kMovingNames{kRoundPipe, kWeiPipe, kWeiPipeNaive, kWeiPipeZb, kTawPipe};

/// The placement of these schedules: any rank may run any op. Chunks are stage numbers on every rank, so v is the
/// number of stages, and Schedule::stages() is only an upper bound. locate() returns rank 0 for every stage. The value
/// is distinct from those of Placement and encoderPlacement().
inline constexpr Placement kMovingPlacement = static_cast<Placement>(3);

/// Number of stages that exist: v if stages move, otherwise p·v.
[[nodiscard]] constexpr int stageCount(Placement placement, int pp, int vpp) {
    return placement == kMovingPlacement ? vpp : pp * vpp;
}

/// Rejects moving stages for code that needs the rank of a stage; `what` names it in the error. Errors: Usage.
[[nodiscard]] Status rejectMoving(Placement placement, std::string_view what);

} // namespace bubblescope
