#include "runtime/checks/layer_result.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/mismatch.h"

#include <algorithm>
#include <cstddef>

namespace bubblescope::runtime {
namespace {

/// The numbers in the memory representation of their type.
std::vector<std::byte> bitsOf(const ShownTensor& shown) {
    const std::vector<float> values = shown.valuesNow();
    const auto size = static_cast<std::size_t>(bytesOf(shown.type));
    std::vector<std::byte> bits(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) { // a bfloat16 is the upper half of a float
        const auto* const value = reinterpret_cast<const std::byte*>(&values[i]);
        std::copy_n(value + sizeof(float) - size, size, bits.data() + i * size);
    }
    return bits;
}

} // namespace

std::uint64_t digestOf(const LayerResult& result) {
    std::uint64_t joined = 0;
    for (const ShownTensor& one : result)
        joined = digest::mix(joined) ^ one.digestNow();
    return joined;
}

std::optional<std::size_t> firstDifference(const LayerResult& first, const LayerResult& second) {
    const auto [a, b] = std::ranges::mismatch(first, second, {}, &ShownTensor::digestNow, &ShownTensor::digestNow);
    if (a == first.end() && b == second.end()) return std::nullopt;
    return static_cast<std::size_t>(a - first.begin());
}

TensorDifference differenceOf(const LayerResult& first, const LayerResult& second, std::size_t at) {
    const ShownTensor& was = first[at];
    const ShownTensor& is = second.at(at);
    const std::vector<std::byte> was_bits = bitsOf(was);
    const std::vector<std::byte> is_bits = bitsOf(is);
    const auto elements = static_cast<std::int64_t>(std::min(was_bits.size(), is_bits.size())) / bytesOf(was.type);
    TensorDifference found = elementDifference(was_bits.data(), is_bits.data(), elements, was.type);
    found.elements = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (first[i].tensor != was.tensor) continue;
        if (i < at) found.first += first[i].count;
        found.elements += first[i].count;
    }
    return found;
}

} // namespace bubblescope::runtime
