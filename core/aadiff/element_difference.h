#pragma once

#include "core/timeline/check_record.h"

#include <cstdint>

namespace bubblescope {

/// Floating-point types have a distance in units in the last place; the Bits types do not.
enum class ElementType : std::uint8_t { Bits8, Bits16, Bits32, Bits64, Float16, BFloat16, Float32, Float64 };

[[nodiscard]] std::int64_t bytesOf(ElementType type);

/// Where two tensors of equal size differ, compared bit by bit: −0 and +0 differ, NaNs with equal bits do not. The
/// distance is that of the first differing elements, in representable numbers between them (−0 and +0 are 0 apart);
/// none if one of them is NaN. For equal tensors `differing` is 0 and the other fields are meaningless. `first` and
/// `second` are in host memory.
[[nodiscard]] TensorDifference elementDifference(const void* first, const void* second, std::int64_t elements,
                                                 ElementType type);

} // namespace bubblescope
