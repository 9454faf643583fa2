#pragma once

#include "runtime/accelerator/kernels/forms.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope::runtime::test {

// Implements the forms of runtime/accelerator/kernels/forms.h with the summation order of a GPU.

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

/// Butterfly sum over the parts of adjacent lanes. `combine` adds two parts.
template <class Part, class Combine>
Part combineInWarp(std::vector<Part> parts, const Combine& combine) {
    for (std::size_t distance = parts.size() / 2; distance > 0; distance /= 2) {
        const std::vector<Part> before = parts;
        for (std::size_t lane = 0; lane < parts.size(); ++lane)
            parts[lane] = combine(before[lane], before[lane ^ distance]);
    }
    return parts[0];
}

/// Each warp computes a butterfly sum; the sums of the warps are then added in order.
template <class Part, class Combine>
Part combineLanes(const std::vector<Part>& parts, int lanes_of_warp, const Combine& combine) {
    std::optional<Part> total;
    for (auto warp = parts.begin(); warp != parts.end(); warp += lanes_of_warp) {
        const Part sum = combineInWarp(std::vector<Part>(warp, warp + lanes_of_warp), combine);
        total = total ? combine(*total, sum) : sum;
    }
    return *total;
}

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, RowForm /*form*/) {
    const RowLanes lanes = rowLanes(kernel);
    for (std::int64_t row = 0; row < kernel.rows(); ++row) {
        typename Kernel::State state{};
        for (int pass = 0; pass < Kernel::kPasses; ++pass) {
            const auto combine = [&](const auto& a, const auto& b) { return Kernel::combine(pass, a, b); };
            std::vector<typename Kernel::Part> parts(static_cast<std::size_t>(lanes.lanes), Kernel::zero(pass));
            for (std::int64_t i = 0; i < kernel.terms(row); ++i) {
                auto& part = parts[static_cast<std::size_t>(i / lanes.run % lanes.lanes)];
                part = combine(part, kernel.term(pass, row, i, state));
            }
            kernel.total(pass, combineLanes(parts, kWarp, combine), state);
        }
        for (std::int64_t column = 0; column < kernel.columns(); ++column)
            kernel.write(row, column, state);
        kernel.finish(row, state);
    }
}

template <class Kernel>
void runInGpuOrder(const Kernel& kernel, ColumnForm /*form*/) {
    for (std::int64_t column = 0; column < kernel.columns(); ++column) {
        std::vector<typename Kernel::Part> parts(kColumnLanes, Kernel::zero());
        for (std::int64_t row = 0; row < kernel.rows(); ++row) {
            auto& part = parts[static_cast<std::size_t>(row % kColumnLanes)];
            part = Kernel::combine(part, kernel.part(row, column));
        }
        kernel.finish(column, combineLanes(parts, kColumnWarpLanes, &Kernel::combine));
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
            const std::int64_t place = kernel.place(entry, column);
            kernel.grad[place] = kernel.before != nullptr ? kernel.before[place] + sum : sum;
        }
    }
}

} // namespace bubblescope::runtime::test
