#pragma once

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// Numbers that follow from a seed and a name alone, not from who asks first: element i of a tensor is a
/// hash of (seed, stream, index, i). Exact on every machine.
class Synthetic {
public:
    /// What numbers are for; different streams never share any.
    enum class Stream : std::uint64_t { Weights = 1, Data = 2, Faults = 3 };

    explicit Synthetic(std::uint64_t seed) : seed_(seed) {}

    /// Evenly distributed over all 64-bit values.
    [[nodiscard]] std::uint64_t number(Stream stream, std::uint64_t index) const;

    /// `count` numbers, evenly distributed in [-scale, scale).
    [[nodiscard]] std::vector<float> uniform(Stream stream, std::uint64_t index, std::int64_t count, float scale) const;

private:
    std::uint64_t seed_;
};

} // namespace bubblescope::runtime
