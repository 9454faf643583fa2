#pragma once

#include "core/aadiff/digest.h"

#include <cstdint>
#include <string_view>

namespace bubblescope {

/// Pseudo-random numbers that are the same on every platform, unlike those of the standard library's distributions.
class Jitter {
public:
    explicit Jitter(std::string_view seed) {
        for (const char letter : seed)
            state_ = digest::mix(state_ + static_cast<unsigned char>(letter) + digest::kOdd);
    }

    [[nodiscard]] std::uint64_t bits() { return digest::mix(state_ += digest::kOdd); }

    /// Between `middle` · (1 − `share`) and `middle` · (1 + `share`), the middle more often than the ends.
    [[nodiscard]] double around(double middle, double share) { return middle * (1 + share * (unit() + unit() - 1)); }

private:
    /// Uniform in [0, 1).
    [[nodiscard]] double unit() {
        constexpr double kScale = 1.0 / 9007199254740992.0; // 2^-53
        return static_cast<double>(bits() >> 11U) * kScale;
    }

    std::uint64_t state_ = 0;
};

} // namespace bubblescope
