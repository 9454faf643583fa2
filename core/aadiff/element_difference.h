#pragma once

#include "core/timeline/check_record.h"

#include <cstdint>

namespace bubblescope {

/// Bits are compared as such and have no distance in units in the last place; floats have.
enum class ElementType : std::uint8_t { Bits8, Bits16, Bits32, Bits64, Float16, BFloat16, Float32, Float64 };

[[nodiscard]] std::int64_t bytesOf(ElementType type);

/// Where two tensors of equally many elements differ, bit by bit, so that −0 and +0 differ and NaNs with equal bits do
/// not. The distance is that of the first elements that differ, in representable numbers between them (−0 and +0 are 0
/// apart); none where one of them is not a number. Of equal tensors `differing` is 0 and the rest says nothing.
[[nodiscard]] TensorDifference elementDifference(const void* first, const void* second, std::int64_t elements,
                                                 ElementType type);

} // namespace bubblescope
