#pragma once

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

} // namespace bubblescope
