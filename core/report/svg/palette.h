#pragma once

#include "core/schedule/op.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope::svg {

/// What a box is painted with: an op's kind, and how far it is mixed towards the ground.
struct Paint {
    OpKind kind = OpKind::Forward;
    std::int32_t step = 0;  ///< 0 = the full colour, steps − 1 = the lightest
    std::int32_t steps = 1; ///< chunks, times slices where sequences are split

    friend constexpr auto operator<=>(const Paint&, const Paint&) = default;
};

/// "#rrggbb".
[[nodiscard]] std::string fillOf(const Paint& paint);

/// Black or white, whichever reads better on `fill` ("#rrggbb").
[[nodiscard]] std::string_view textOn(std::string_view fill);

} // namespace bubblescope::svg
