#include "core/aadiff/mismatch.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace bubblescope {
namespace {

template <class T, std::size_t N>
TensorDifference between(const std::array<T, N>& a, const std::array<T, N>& b, ElementType type) {
    EXPECT_EQ(bytesOf(type), static_cast<std::int64_t>(sizeof(T)));
    return elementDifference(a.data(), b.data(), static_cast<std::int64_t>(N), type);
}

TEST(ElementDifference, CountsAndNamesTheFirst) {
    const std::array<float, 5> a{1, 2, 3, 4, 5};
    std::array<float, 5> b = a;
    EXPECT_EQ(between(a, b, ElementType::Float32).differing, 0);
    b[3] = std::nextafter(4.0F, 0.0F);
    b[4] = 6;
    const TensorDifference found = between(a, b, ElementType::Float32);
    EXPECT_EQ(found.elements, 5);
    EXPECT_EQ(found.differing, 2);
    EXPECT_EQ(found.first, 3);
    EXPECT_EQ(found.first_bits, std::bit_cast<std::uint32_t>(4.0F));
    EXPECT_EQ(found.second_bits, std::bit_cast<std::uint32_t>(b[3]));
    EXPECT_EQ(found.ulp, 1);
}

TEST(ElementDifference, MeasuresAcrossZeroAndRefusesWhatIsNoNumber) {
    const auto ulp = [](float x, float y) { return between(std::array{x}, std::array{y}, ElementType::Float32).ulp; };
    const float least = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(ulp(0.0F, -0.0F), 0);
    EXPECT_EQ(ulp(-least, least), 2);
    EXPECT_EQ(ulp(std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()), 1);
    EXPECT_FALSE(ulp(1.0F, std::numeric_limits<float>::quiet_NaN()));
    const auto far = between(std::array{-std::numeric_limits<double>::max()},
                             std::array{std::numeric_limits<double>::max()}, ElementType::Float64);
    EXPECT_EQ(far.ulp, std::numeric_limits<std::int64_t>::max()) << "more than fits";
}

TEST(ElementDifference, KnowsEveryType) {
    const std::array<std::uint16_t, 2> a{0x3C00, 0x3F80};
    const std::array<std::uint16_t, 2> b{0x3C02, 0x3F80};
    EXPECT_EQ(between(a, b, ElementType::Float16).ulp, 2);
    EXPECT_EQ(between(a, b, ElementType::BFloat16).ulp, 2);
    EXPECT_FALSE(between(a, b, ElementType::Bits16).ulp);
    EXPECT_FALSE(
        between(std::array<std::uint16_t, 1>{0x7C01}, std::array<std::uint16_t, 1>{0x7C00}, ElementType::Float16).ulp);
    EXPECT_EQ(between(std::array<std::uint8_t, 2>{1, 2}, std::array<std::uint8_t, 2>{1, 3}, ElementType::Bits8).first,
              1);
    EXPECT_EQ(
        between(std::array<std::uint64_t, 1>{1}, std::array<std::uint64_t, 1>{3}, ElementType::Bits64).second_bits, 3U);
}

} // namespace
} // namespace bubblescope
