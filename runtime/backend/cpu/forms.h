#pragma once

#include "runtime/accelerator/kernels/forms.h"

#include <array>
#include <cstddef>
#include <utility>

// The iterations of the following loop are independent.
#if defined(__GNUC__) && !defined(__clang__)
#define BUBBLESCOPE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define BUBBLESCOPE_INDEPENDENT
#endif

namespace bubblescope::runtime::cpu {

// The forms of runtime/accelerator/kernels/forms.h as loops. The compiler may assume that elements of a kernel are
// independent, and sums are split into kSums interleaved parts, so that both are vectorised.

inline constexpr std::size_t kSums = 8;

template <class Kernel>
void run(const Kernel& kernel, EachForm /*form*/) {
    const std::int64_t count = kernel.count();
    BUBBLESCOPE_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i)
        kernel(i);
}

template <class Kernel>
void run(const Kernel& kernel, GridForm /*form*/) {
    const std::int64_t rows = kernel.rows();
    const std::int64_t columns = kernel.columns();
    for (std::int64_t row = 0; row < rows; ++row) {
        BUBBLESCOPE_INDEPENDENT
        for (std::int64_t column = 0; column < columns; ++column)
            kernel(row, column);
    }
}

/// The sum of a row's terms: term i belongs to part i % kSums, and the parts are added pairwise.
template <int kPass, class Kernel>
typename Kernel::Part sumOf(const Kernel& kernel, std::int64_t row, const typename Kernel::State& state) {
    constexpr auto kStep = static_cast<std::int64_t>(kSums);
    const std::int64_t terms = kernel.terms(row);
    std::array<typename Kernel::Part, kSums> sums;
    sums.fill(Kernel::zero(kPass));
    std::int64_t i = 0;
    for (; i + kStep <= terms; i += kStep) {
        for (std::size_t part = 0; part < kSums; ++part) {
            sums[part] =
                Kernel::combine(kPass, sums[part], kernel.term(kPass, row, i + static_cast<std::int64_t>(part), state));
        }
    }
    for (std::size_t part = 0; i < terms; ++i, ++part)
        sums[part] = Kernel::combine(kPass, sums[part], kernel.term(kPass, row, i, state));
    for (std::size_t distance = kSums / 2; distance > 0; distance /= 2) {
        for (std::size_t part = 0; part < distance; ++part)
            sums[part] = Kernel::combine(kPass, sums[part], sums[part + distance]);
    }
    return sums[0];
}

template <class Kernel, int... kPasses>
void runRow(const Kernel& kernel, std::int64_t row, std::integer_sequence<int, kPasses...> /*passes*/) {
    typename Kernel::State state{};
    (kernel.total(kPasses, sumOf<kPasses>(kernel, row, state), state), ...);
    const std::int64_t columns = kernel.columns();
    BUBBLESCOPE_INDEPENDENT
    for (std::int64_t column = 0; column < columns; ++column)
        kernel.write(row, column, state);
    kernel.finish(row, state);
}

template <class Kernel>
void run(const Kernel& kernel, RowForm /*form*/) {
    const std::int64_t rows = kernel.rows();
    for (std::int64_t row = 0; row < rows; ++row)
        runRow(kernel, row, std::make_integer_sequence<int, Kernel::kPasses>());
}

/// Processes some columns at a time, row after row.
template <class Kernel>
void run(const Kernel& kernel, ColumnForm /*form*/) {
    constexpr std::int64_t kAtOnce = 64;
    const std::int64_t rows = kernel.rows();
    for (std::int64_t first = 0; first < kernel.columns(); first += kAtOnce) {
        const std::int64_t count = kernel.columns() - first < kAtOnce ? kernel.columns() - first : kAtOnce;
        std::array<typename Kernel::Part, kAtOnce> sums;
        sums.fill(Kernel::zero());
        for (std::int64_t row = 0; row < rows; ++row) {
            BUBBLESCOPE_INDEPENDENT
            for (std::int64_t i = 0; i < count; ++i) {
                auto& sum = sums[static_cast<std::size_t>(i)];
                sum = Kernel::combine(sum, kernel.part(row, first + i));
            }
        }
        for (std::int64_t i = 0; i < count; ++i)
            kernel.finish(first + i, sums[static_cast<std::size_t>(i)]);
    }
}

/// Processes row after row. Terms of an entry are summed before the sum is added to its previous content, as on a GPU.
template <class Kernel>
void run(const Kernel& kernel, TableForm /*form*/) {
    const std::int64_t columns = kernel.columns();
    const std::int64_t rows = kernel.rows();
    if (kernel.accumulate) {
        const auto isFirst = [&](std::int64_t row) {
            for (std::int64_t before = 0; before < row; ++before) {
                if (kernel.entryOf(before) == kernel.entryOf(row)) return false;
            }
            return true;
        };
        for (std::int64_t row = 0; row < rows; ++row) {
            if (!isFirst(row)) continue;
            for (std::int64_t column = 0; column < columns; ++column) {
                float sum = 0.0F;
                for (std::int64_t same = row; same < rows; ++same)
                    sum += kernel.entryOf(same) == kernel.entryOf(row) ? kernel.value(same, column) : 0.0F;
                kernel.sum(kernel.entryOf(row), column) += sum;
            }
        }
        return;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t entry = 0; entry < kernel.entries(); ++entry)
            kernel.sum(entry, column) = 0.0F;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t entry = kernel.entryOf(row);
        BUBBLESCOPE_INDEPENDENT
        for (std::int64_t column = 0; column < columns; ++column)
            kernel.sum(entry, column) += kernel.value(row, column);
    }
}

} // namespace bubblescope::runtime::cpu
