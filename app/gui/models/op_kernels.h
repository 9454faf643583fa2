#pragma once

#include "app/gui/models/session.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace bubblescope::gui {

/// The kernels that a device ran for an op.
struct OpKernels {
    struct Named {
        std::string_view name; ///< owned by the trace
        std::size_t count = 0;
        TimeNs total{0};
    };
    std::size_t count = 0;
    TimeNs total{0};            ///< sum over all kernels, including those that ran in parallel
    std::vector<Named> longest; ///< sorted by total time, at most kNamed entries
    static constexpr std::size_t kNamed = 4;
};

/// The kernels, copies and memsets that began on the rank's streams while the op ran, except those that the trace
/// assigns to another op. None if the trace has no streams. Logarithmic in the number of the rank's slices, linear in
/// the op's.
[[nodiscard]] OpKernels kernelsOf(const Session& session, const ItemRef& op);

} // namespace bubblescope::gui
