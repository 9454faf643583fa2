#include "core/aadiff/element_difference.h"

#include <algorithm>
#include <cstring>

namespace bubblescope {
namespace {

/// The layout of a floating-point format.
struct FloatShape {
    unsigned bits = 0;
    unsigned mantissa = 0;
};

std::optional<FloatShape> shapeOf(ElementType type) {
    switch (type) {
    case ElementType::Float16: return FloatShape{16, 10};
    case ElementType::BFloat16: return FloatShape{16, 7};
    case ElementType::Float32: return FloatShape{32, 23};
    case ElementType::Float64: return FloatShape{64, 52};
    default: return std::nullopt;
    }
}

/// The index of a number among the representable ones, 0 for zero, negative for negative numbers. Nothing for NaNs.
std::optional<std::int64_t> placeOf(std::uint64_t bits, FloatShape shape) {
    const std::uint64_t sign = std::uint64_t{1} << (shape.bits - 1);
    const std::uint64_t size = bits & (sign - 1);
    const std::uint64_t infinity = (sign - 1) >> shape.mantissa << shape.mantissa;
    if (size > infinity) return std::nullopt;
    const auto place = static_cast<std::int64_t>(size);
    return (bits & sign) != 0 ? -place : place;
}

std::optional<std::int64_t> distance(std::uint64_t a, std::uint64_t b, ElementType type) {
    const auto shape = shapeOf(type);
    if (!shape) return std::nullopt;
    const auto of_a = placeOf(a, *shape);
    const auto of_b = placeOf(b, *shape);
    if (!of_a || !of_b) return std::nullopt;
    // For doubles of opposite signs the distance may exceed 63 bits.
    const auto apart =
        static_cast<std::uint64_t>(std::max(*of_a, *of_b)) - static_cast<std::uint64_t>(std::min(*of_a, *of_b));
    return static_cast<std::int64_t>(std::min(apart, std::uint64_t{INT64_MAX}));
}

std::uint64_t load(const void* data, std::int64_t index, std::size_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(data) + static_cast<std::size_t>(index) * bytes, bytes);
    return bits;
}

} // namespace

std::int64_t bytesOf(ElementType type) {
    switch (type) {
    case ElementType::Bits8: return 1;
    case ElementType::Bits16:
    case ElementType::Float16:
    case ElementType::BFloat16: return 2;
    case ElementType::Bits32:
    case ElementType::Float32: return 4;
    case ElementType::Bits64:
    case ElementType::Float64: return 8;
    }
    return 1;
}

TensorDifference elementDifference(const void* first, const void* second, std::int64_t elements, ElementType type) {
    const auto bytes = static_cast<std::size_t>(bytesOf(type));
    TensorDifference result;
    result.elements = elements;
    for (std::int64_t i = 0; i < elements; ++i) {
        const std::uint64_t a = load(first, i, bytes);
        const std::uint64_t b = load(second, i, bytes);
        if (a == b) continue;
        if (result.differing++ > 0) continue;
        result.first = i;
        result.first_bits = a;
        result.second_bits = b;
        result.ulp = distance(a, b, type);
    }
    return result;
}

} // namespace bubblescope
