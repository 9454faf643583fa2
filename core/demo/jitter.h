#pragma once

#include "core/aadiff/digest.h"

#include <cstdint>
#include <string_view>

namespace bubblescope {

/// Numbers that look random and are the same everywhere, which those of the standard library's distributions are not.
class Jitter {
public:
    explicit Jitter(std::string_view seed) {
        for (const char letter : seed)
            state_ = digest::mix(state_ + static_cast<unsigned char>(letter) + digest::kOdd);
    }

    [[nodiscard]] std::uint64_t bits() { return digest::mix(state_ += digest::kOdd); }

    /// Between `middle` less `share` of it and `middle` plus `share` of it, the middle more often than the ends.
    [[nodiscard]] double around(double middle, double share) { return middle * (1 + share * (unit() + unit() - 1)); }

private:
    /// From 0 to below 1.
    [[nodiscard]] double unit() {
        constexpr double kScale = 1.0 / 9007199254740992.0; // 2^-53
        return static_cast<double>(bits() >> 11U) * kScale;
    }

    std::uint64_t state_ = 0;
};

} // namespace bubblescope
