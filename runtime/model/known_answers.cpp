#include "runtime/model/known_answers.h"

#include "runtime/model/number_hash.h"

#include <array>

namespace bubblescope::runtime {
namespace {

constexpr Eigen::Index kRows = 48;
constexpr Eigen::Index kInner = 64;
constexpr Eigen::Index kColumns = 40;

/// Whole numbers from -8 to 7.
Matrix<float> wholeNumbers(std::uint64_t name, Eigen::Index rows, Eigen::Index columns) {
    Matrix<float> values(rows, columns);
    for (Eigen::Index row = 0; row < rows; ++row) {
        for (Eigen::Index column = 0; column < columns; ++column) {
            const auto index = static_cast<std::uint64_t>(row * columns + column);
            values(row, column) = static_cast<float>(static_cast<int>(numberOf(1, name, index) >> 60U) - 8);
        }
    }
    return values;
}

constexpr std::array<KnownAnswer, 3> kAnswers{{{CheckedTensor::Product, 0x6F57113B0B09DDE6ULL},
                                               {CheckedTensor::Sums, 0x0AAB9E5D6C84D1B9ULL},
                                               {CheckedTensor::Copy, 0x3D0FC47094E59E1DULL}}};

} // namespace

std::span<const KnownAnswer> knownAnswers() {
    return kAnswers;
}

const KnownInputs& knownInputs() {
    static const KnownInputs inputs{wholeNumbers(1, kRows, kInner),
                                    {wholeNumbers(2, kInner, kColumns), wholeNumbers(3, 1, kColumns)}};
    return inputs;
}

void computeKnown(CheckedTensor tensor, LayerProbe& probe) {
    const auto& [input, linear] = knownInputs();
    if (tensor == CheckedTensor::Product) {
        Matrix<float> product = apply(linear, input);
        probe.touch(tensor, product.data(), product.size());
    } else if (tensor == CheckedTensor::Sums) {
        Row<float> sums = weightGradient(input, input).bias;
        probe.touch(tensor, sums.data(), sums.size());
    } else {
        Matrix<float> copy = input;
        probe.touch(tensor, copy.data(), copy.size());
    }
}

} // namespace bubblescope::runtime
