#pragma once

#include "runtime/accelerator/kernels/forms.h"

#include <array>
#include <cstddef>

namespace bubblescope::runtime::test {

// The forms of runtime/accelerator/kernels/forms.h, sum for sum in the order of a GPU.

inline constexpr int kWarp = 32;

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, EachForm /*form*/) {
    for (std::int64_t i = 0; i < kernel.count(); ++i)
        kernel(i);
}

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, GridForm /*form*/) {
    for (std::int64_t i = 0; i < kernel.rows() * kernel.columns(); ++i)
        kernel(i / kernel.columns(), i % kernel.columns());
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
void runInGpuOrder(const Kernel& kernel, RowForm /*form*/) {
    for (std::int64_t row = 0; row < kernel.rows(); ++row) {
        typename Kernel::State state{};
        for (int pass = 0; pass < Kernel::kPasses; ++pass) {
            std::array<typename Kernel::Part, kLanes> parts{};
            for (int lane = 0; lane < kLanes; ++lane) {
                auto part = Kernel::zero(pass);
                for (std::int64_t i = lane; i < kernel.terms(row); i += kLanes)
                    part = Kernel::combine(pass, part, kernel.term(pass, row, i, state));
                parts[static_cast<std::size_t>(lane)] = part;
            }
            kernel.total(pass, combineLanes<Kernel>(pass, parts), state);
        }
        for (std::int64_t column = 0; column < kernel.columns(); ++column)
            kernel.write(row, column, state);
        kernel.finish(row, state);
    }
}

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, ColumnForm /*form*/) {
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

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, TableForm /*form*/) {
    for (std::int64_t entry = 0; entry < kernel.entries(); ++entry) {
        for (std::int64_t column = 0; column < kernel.columns(); ++column) {
            float sum = 0.0F;
            for (std::int64_t row = 0; row < kernel.rows(); ++row) {
                if (kernel.entryOf(row) == entry) sum += kernel.value(row, column);
            }
            float& to = kernel.sum(entry, column);
            to = kernel.accumulate ? to + sum : sum;
        }
    }
}

} // namespace bubblescope::runtime::test
