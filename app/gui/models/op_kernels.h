#pragma once

#include "app/gui/models/session.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace bubblescope::gui {

/// Kernels that a device ran for an op.
struct OpKernels {
    struct Named {
        std::string_view name; ///< owned by the trace
        std::size_t count = 0;
        TimeNs total{0};
    };
    std::size_t count = 0;
    TimeNs total{0};            ///< sum over all kernels, including those that ran in parallel
    std::vector<Named> longest; ///< at most kNamed entries, sorted by total time
    static constexpr std::size_t kNamed = 4;
};

/// Kernels, copies and memsets that started on the rank's streams while the op ran, except those that the trace assigns
/// to another op. None if the trace has no streams. Logarithmic in the number of slices of the rank, linear in the
/// number of slices of the op.
[[nodiscard]] OpKernels kernelsOf(const Session& session, const ItemRef& op);

} // namespace bubblescope::gui
