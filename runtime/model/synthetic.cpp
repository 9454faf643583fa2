#include "runtime/model/synthetic.h"

#include "runtime/accelerator/kernels/number_hash.h"

namespace bubblescope::runtime {

std::uint64_t Synthetic::number(Stream stream, std::uint64_t index) const {
    return numberOf(seed_, static_cast<std::uint64_t>(stream), index);
}

std::vector<float> Synthetic::uniform(Stream stream, std::uint64_t index, std::int64_t count, float scale) const {
    const std::uint64_t base = number(stream, index);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = unitOf(base, i) * scale;
    return values;
}

} // namespace bubblescope::runtime
