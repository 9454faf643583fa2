#include "runtime/model/synthetic.h"

#include "runtime/model/number_hash.h"

namespace bubblescope::runtime {

std::uint64_t Synthetic::number(Stream stream, std::uint64_t index) const {
    return numberOf(seed_, static_cast<std::uint64_t>(stream), index);
}

Matrix<float> Synthetic::uniform(Stream stream, std::uint64_t index, Eigen::Index rows, Eigen::Index columns,
                                 float scale) const {
    const std::uint64_t base = number(stream, index);
    Matrix<float> tensor(rows, columns);
    for (Eigen::Index i = 0; i < tensor.size(); ++i)
        tensor.data()[i] = unitOf(base, static_cast<std::uint64_t>(i)) * scale;
    return tensor;
}

} // namespace bubblescope::runtime
