#include "core/timeline/checked_tensor.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace bubblescope {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 24> kNames{"normalised",
                                                  "deviations",
                                                  "columns",
                                                  "attention",
                                                  "attended",
                                                  "part",
                                                  "hidden",
                                                  "loss",
                                                  "logits gradient",
                                                  "output",
                                                  "hidden gradient",
                                                  "normalised gradient",
                                                  "attended gradient",
                                                  "columns gradient",
                                                  "earlier gradient",
                                                  "input gradient",
                                                  "weight gradient",
                                                  "weights",
                                                  "gradient sum",
                                                  "activation",
                                                  "gradient",
                                                  "product",
                                                  "sums",
                                                  "copy"};
static_assert(kNames.size() == static_cast<std::size_t>(CheckedTensor::Copy) + 1);

} // namespace

std::string_view tensorName(CheckedTensor tensor) {
    return kNames[static_cast<std::size_t>(tensor)];
}

std::optional<CheckedTensor> parseTensor(std::string_view name) {
    const auto same = [](char a, char b) { return a == b || (a == ' ' && b == '-'); };
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (std::ranges::equal(kNames[i], name, same)) return static_cast<CheckedTensor>(i);
    }
    return std::nullopt;
}

} // namespace bubblescope
