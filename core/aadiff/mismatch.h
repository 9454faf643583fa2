#pragma once

#include "core/base/sentence.h"
#include "core/timeline/checks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// Floating-point types have distances in units in the last place (ulp); the Bits types have none.
enum class ElementType : std::uint8_t { Bits8, Bits16, Bits32, Bits64, Float16, BFloat16, Float32, Float64 };

[[nodiscard]] std::int64_t bytesOf(ElementType type);

/// Compares two tensors of equal size bit by bit: −0 and +0 differ, NaNs with equal bits do not. `ulp` is the distance
/// between the first differing elements, counted in representable numbers (0 between −0 and +0); none if one of them is
/// NaN. For equal tensors `differing` is 0 and the other fields are meaningless. `first` and `second` are in host
/// memory.
[[nodiscard]] TensorDifference elementDifference(const void* first, const void* second, std::int64_t elements,
                                                 ElementType type);

/// Sets the digests of two executions, or of other data that must be equal, and derives the outcome.
void setOutcome(CheckRecord& check, std::uint64_t first, std::uint64_t second);

/// The verdict on two differing executions, from digests of repetitions on this rank (`here`) and on another rank
/// (`there`): at least two each, or none. Transient if this rank's repetitions agree with each other, with one of the
/// first two executions, and with the other rank; Open if they do not and no other rank repeated the op.
[[nodiscard]] Verdict verdictOf(std::uint64_t first, std::uint64_t second, std::span<const std::uint64_t> here,
                                std::span<const std::uint64_t> there);

/// Indices of the bits that differ in the first differing element, lowest first.
[[nodiscard]] std::vector<int> flippedBits(const TensorDifference& difference);

/// Location of a mismatch, such as "step 7, rank 2 (device GPU-3f… of host node7), B3.1 of layer 5, weight gradient".
[[nodiscard]] Sentence mismatchPlace(const CheckRecord& check, const CheckedDevice& device);

/// Describes the difference, for example "3 of 4096 elements differ, the first at 17: 3f800000 and 3f800001, bit 0
/// flipped, 1 ulp apart"; contains only the digests if the tensors were not available.
[[nodiscard]] Sentence differenceText(const CheckRecord& check);

/// The verdict as a sentence, followed by the recommended action.
[[nodiscard]] Sentence verdictText(const CheckRecord& check);
[[nodiscard]] Sentence verdictAdvice(const CheckRecord& check);

} // namespace bubblescope
