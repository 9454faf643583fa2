#include "runtime/model/known_answers.h"

#include "runtime/accelerator/kernels/number_hash.h"

#include <array>
#include <cstddef>
#include <vector>

namespace bubblescope::runtime {
namespace {

constexpr std::int64_t kRows = 48;
constexpr std::int64_t kInner = 64;
constexpr std::int64_t kColumns = 40;

/// Integers from -8 to 7, stored as U, column-major or row-major.
template <class U>
std::vector<U> wholeNumbers(std::uint64_t name, std::int64_t rows, std::int64_t columns, bool by_row = false) {
    std::vector<U> values(static_cast<std::size_t>(rows * columns));
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            const std::int64_t index = row * columns + column;
            const auto number = static_cast<int>(numberOf(1, name, static_cast<std::uint64_t>(index)) >> 60U) - 8;
            store(values[static_cast<std::size_t>(by_row ? index : column * rows + row)], static_cast<float>(number));
        }
    }
    return values;
}

template <class U>
Buffer putThere(WorkQueue& on, const std::vector<U>& values) {
    Buffer buffer = on.pool().take(static_cast<std::int64_t>(values.size() * sizeof(U)));
    on.device().copyIn(buffer.as<void>(), values.data(), buffer.bytes(), on.stream());
    return buffer;
}

constexpr std::array<KnownAnswer, 3> kAnswers{{{CheckedTensor::Product, 0x6F57113B0B09DDE6ULL},
                                               {CheckedTensor::Sums, 0x0AAB9E5D6C84D1B9ULL},
                                               {CheckedTensor::Copy, 0x3D0FC47094E59E1DULL}}};

} // namespace

std::span<const KnownAnswer> knownAnswers() {
    return kAnswers;
}

template <class T>
KnownComputation<T>::KnownComputation(WorkQueue& on)
    : input_(putThere(on, wholeNumbers<T>(1, kRows, kInner))),
      rows_(putThere(on, wholeNumbers<T>(1, kRows, kInner, true))),
      exact_(putThere(on, wholeNumbers<float>(1, kRows, kInner))),
      weight_(putThere(on, wholeNumbers<T>(2, kInner, kColumns))) {
    std::vector<float> biases;
    for (const float bias : wholeNumbers<float>(3, 1, kColumns))
        biases.insert(biases.end(), kRows, bias);
    bias_ = putThere(on, biases);
}

template <class T>
void KnownComputation<T>::compute(CheckedTensor tensor, const LayerPlace& place) const {
    WorkQueue& on = place.on;
    Buffer answer;
    if (tensor == CheckedTensor::Product) {
        answer = on.copyOf(bias_);
        Gemm gemm;
        gemm.rows = kRows;
        gemm.columns = kColumns;
        gemm.inner = kInner;
        gemm.in = kStorage<T>;
        gemm.out = Storage::Float;
        gemm.a = {input_.as<void>(), gemm.rows, 0, false};
        gemm.b = {weight_.as<void>(), gemm.inner, 0, false};
        gemm.result = {answer.as<void>(), gemm.rows, 0, false};
        gemm.added = gemm.result.data;
        on.device().multiply(gemm, on.stream());
    } else if (tensor == CheckedTensor::Sums) {
        answer = on.pool().take(kInner * bytesOf(Storage::Float));
        on.launch(BiasGradientKernel<T>{answer.as<float>(), rows_.as<T>(), kRows, kInner, nullptr});
    } else {
        answer = on.copyOf(exact_);
    }
    place.show<float>(tensor, answer);
}

template class KnownComputation<float>;
template class KnownComputation<Bf16>;

} // namespace bubblescope::runtime
