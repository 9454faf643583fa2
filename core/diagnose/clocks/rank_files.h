#pragma once

#include "core/recognise/run.h"

#include <cstdint>
#include <map>
#include <utility>

namespace bubblescope {

/// Replica and rank.
using RankKey = std::pair<int, Rank>;

/// Which of the run's trace files each rank's ops come from: the one whose slices begin and end when the ops do.
/// Ranks of which nothing matches are left out. With one file that is the file of all.
[[nodiscard]] std::map<RankKey, std::uint32_t> rankFiles(const Run& run);

} // namespace bubblescope
