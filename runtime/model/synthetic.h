#pragma once

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// Random numbers that depend only on a seed and a name, not on the order of calls: element i of a tensor is a hash of
/// (seed, stream, index, i). Equal on every machine.
class Synthetic {
public:
    /// The purpose of the numbers; different streams never share numbers.
    enum class Stream : std::uint64_t { Weights = 1, Data = 2, Faults = 3, FirstEncoder = 4, SecondEncoder = 5 };

    explicit Synthetic(std::uint64_t seed) : seed_(seed) {}

    /// Uniformly distributed over all 64-bit values.
    [[nodiscard]] std::uint64_t number(Stream stream, std::uint64_t index) const;

    /// `count` numbers, uniformly distributed over [-scale, scale).
    [[nodiscard]] std::vector<float> uniform(Stream stream, std::uint64_t index, std::int64_t count, float scale) const;

private:
    std::uint64_t seed_;
};

} // namespace bubblescope::runtime
