#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// The rule that recognises timelines of ByteDance's straggler study, as Run::annotation names it.
inline constexpr std::string_view kStragglerRule = "ByteDance timeline";

/// The place whose slices a track of such a timeline holds.
struct StragglerPlace {
    std::int64_t pp = 0; ///< pipeline rank
    std::int64_t tp = 0; ///< tensor-parallel rank
    std::int64_t dp = 0; ///< data-parallel replica
};

/// Nothing for a thread whose name states no pipeline rank.
[[nodiscard]] std::optional<StragglerPlace> stragglerPlace(const Trace& trace, const Track& track);

} // namespace bubblescope
