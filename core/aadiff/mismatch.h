#pragma once

#include "core/base/sentence.h"
#include "core/timeline/check_log.h"

#include <vector>

namespace bubblescope {

/// The bits in which the first differing element differs, from the lowest.
[[nodiscard]] std::vector<int> flippedBits(const TensorDifference& difference);

/// The place of a mismatch: "step 7, rank 2 (device GPU-3f… of host node7), B3.1 of layer 5, weight gradient".
[[nodiscard]] Sentence mismatchPlace(const CheckRecord& check, const CheckedDevice& device);

/// How the two differ: "3 of 4096 elements differ, the first at 17: 3f800000 and 3f800001, bit 0 flipped, 1 ulp apart";
/// only the digests if the tensors were not available.
[[nodiscard]] Sentence differenceText(const CheckRecord& check);

/// The verdict as a sentence, and the resulting advice.
[[nodiscard]] Sentence verdictText(const CheckRecord& check);
[[nodiscard]] Sentence verdictAdvice(const CheckRecord& check);

} // namespace bubblescope
