#include "runtime/model/synthetic.h"

namespace bubblescope::runtime {
namespace {

/// The finaliser of SplitMix64: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

} // namespace

std::uint64_t Synthetic::number(Stream stream, std::uint64_t index) const {
    return mix(mix(mix(seed_) ^ static_cast<std::uint64_t>(stream)) ^ index);
}

Tensor Synthetic::uniform(Stream stream, std::uint64_t index, Eigen::Index rows, Eigen::Index columns,
                          float scale) const {
    const std::uint64_t base = number(stream, index);
    Tensor tensor(rows, columns);
    for (Eigen::Index i = 0; i < tensor.size(); ++i) {
        // The upper 24 bits, which a float holds exactly.
        const std::uint64_t bits = mix(base + static_cast<std::uint64_t>(i)) >> 40;
        const float unit = static_cast<float>(bits) * 0x1p-23F - 1.0F;
        tensor.data()[i] = unit * scale;
    }
    return tensor;
}

} // namespace bubblescope::runtime
