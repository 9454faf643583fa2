#pragma once

#include "runtime/backend/accelerator/kernels/forms.h"

#include <array>

namespace bubblescope::runtime {

// The forms of kernels/forms.h as loops, sum for sum in the order of a GPU.

inline constexpr int kWarp = 32;

template <class Kernel>
void runOnHost(const Kernel& kernel, EachForm) {
    for (std::int64_t i = 0; i < kernel.count(); ++i)
        kernel(i);
}

/// A warp adds up in a butterfly, then the sums of the warps are added in order.
template <class Kernel>
typename Kernel::Part combineLanes(int pass, std::array<typename Kernel::Part, kLanes> parts) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
        auto next = parts;
        for (int lane = 0; lane < kLanes; ++lane) {
            const auto at = static_cast<std::size_t>(lane);
            next[at] = Kernel::combine(pass, parts[at], parts[at ^ static_cast<std::size_t>(distance)]);
        }
        parts = next;
    }
    auto total = parts[0];
    for (std::size_t warp = 1; warp < kLanes / kWarp; ++warp)
        total = Kernel::combine(pass, total, parts[warp * kWarp]);
    return total;
}

template <class Kernel>
void runOnHost(const Kernel& kernel, RowForm) {
    for (std::int64_t row = 0; row < kernel.rows(); ++row) {
        typename Kernel::State state{};
        for (int pass = 0; pass < Kernel::kPasses; ++pass) {
            std::array<typename Kernel::Part, kLanes> parts{};
            for (int lane = 0; lane < kLanes; ++lane)
                parts[static_cast<std::size_t>(lane)] = kernel.part(pass, row, lane, state);
            kernel.total(pass, combineLanes<Kernel>(pass, parts), state);
        }
        for (int lane = 0; lane < kLanes; ++lane)
            kernel.finish(row, lane, state);
    }
}

template <class Kernel>
void runOnHost(const Kernel& kernel, ColumnForm) {
    for (std::int64_t column = 0; column < kernel.columns(); ++column) {
        auto total = Kernel::zero();
        for (int lane = 0; lane < kColumnLanes; ++lane) {
            auto sum = Kernel::zero();
            for (std::int64_t row = lane; row < kernel.rows(); row += kColumnLanes)
                sum = Kernel::combine(sum, kernel.part(row, column));
            total = Kernel::combine(total, sum);
        }
        kernel.finish(column, total);
    }
}

} // namespace bubblescope::runtime
