#include "runtime/replay/layer_result.h"

#include "core/aadiff/digest.h"
#include "core/aadiff/element_difference.h"

#include <algorithm>

namespace bubblescope::runtime {
std::uint64_t digestOf(const float* values, std::int64_t count) {
    return digest::of(values, static_cast<std::size_t>(count) * sizeof(float));
}

std::uint64_t digestOf(const LayerResult& result) {
    std::uint64_t joined = 0;
    for (const ShownTensor& one : result)
        joined = digest::mix(joined) ^ one.digest;
    return joined;
}

std::optional<std::size_t> firstDifference(const LayerResult& first, const LayerResult& second) {
    const auto [a, b] = std::ranges::mismatch(first, second, {}, &ShownTensor::digest, &ShownTensor::digest);
    if (a == first.end() && b == second.end()) return std::nullopt;
    return static_cast<std::size_t>(a - first.begin());
}

TensorDifference differenceOf(const LayerResult& first, const LayerResult& second, std::size_t at) {
    const ShownTensor& was = first[at];
    const ShownTensor& is = second.at(at);
    const std::size_t elements = std::min(was.values.size(), is.values.size());
    TensorDifference found = elementDifference(was.values.data(), is.values.data(), static_cast<std::int64_t>(elements),
                                               ElementType::Float32);
    found.elements = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (first[i].tensor != was.tensor) continue;
        const auto size = static_cast<std::int64_t>(first[i].values.size());
        if (i < at) found.first += size;
        found.elements += size;
    }
    return found;
}

} // namespace bubblescope::runtime
