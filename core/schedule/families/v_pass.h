#pragma once

#include <cstddef>
#include <cstdint>

namespace bubblescope {

/// The passes of a micro-batch on a rank that holds two chunks along a V. The first four are its way through the rank;
/// weight gradients follow, in the order of their input gradients unless a schedule orders them otherwise.
enum class Pass : std::uint8_t { Forward0, Forward1, InputGrad1, InputGrad0, WeightGrad, None };

[[nodiscard]] constexpr std::size_t index(Pass pass) {
    return static_cast<std::size_t>(pass);
}

[[nodiscard]] constexpr bool isForward(Pass pass) {
    return pass == Pass::Forward0 || pass == Pass::Forward1;
}

[[nodiscard]] constexpr bool isInputGrad(Pass pass) {
    return pass == Pass::InputGrad0 || pass == Pass::InputGrad1;
}

/// Forwards of chunk 0 and input gradients of chunk 1 travel from the first rank to the last, the others back.
[[nodiscard]] constexpr bool travelsDown(Pass pass) {
    return pass == Pass::Forward0 || pass == Pass::InputGrad1;
}

/// Of a forward or input gradient.
[[nodiscard]] constexpr int chunkOf(Pass pass) {
    return pass == Pass::Forward1 || pass == Pass::InputGrad1 ? 1 : 0;
}

} // namespace bubblescope
