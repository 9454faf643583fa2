#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

namespace detail {

/// Moves the elements for which `before` is true to the front; returns their number. Every element is moved, so that
/// there is no branch for the processor to mispredict half of the time.
template <class T, class Before>
[[nodiscard]] std::size_t partitionInPlace(std::span<T> values, Before before) {
    std::size_t below = 0;
    for (T& value : values) {
        const T moved = value;
        value = values[below];
        values[below] = moved;
        below += before(moved) ? 1 : 0;
    }
    return below;
}

/// Two values that probably enclose the one at `place` in sorted order, closely.
template <class T>
[[nodiscard]] std::pair<T, T> guessAround(std::span<const T> values, std::size_t place) {
    constexpr std::size_t kMaxSample = 63;
    std::array<T, kMaxSample> sample;
    const std::size_t size = values.size() < 1024 ? 15 : kMaxSample;
    const std::size_t apart = size < kMaxSample ? 3 : 6; // about 1.5 standard deviations of the sample's median
    for (std::size_t i = 0; i < size; ++i)
        sample[i] = values[i * values.size() / size];
    std::sort(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(size));
    const std::size_t middle = place * size / values.size();
    return {sample[middle - std::min(middle, apart)], sample[std::min(middle + apart, size - 1)]};
}

} // namespace detail

/// Like std::nth_element: afterwards the value at `place` is the one that sorting would put there, none before it is
/// greater and none after it is less. Returns a place up to that one: no value before it is greater than any value
/// after it. Several times as fast on long unsorted lists; linear except for adverse input.
template <class T>
std::size_t nthElement(std::span<T> values, std::size_t place) {
    constexpr std::size_t kFew = 48;
    constexpr int kMaxRounds = 24; // each leaves about a quarter, except for adverse input
    std::size_t begin = 0;
    std::size_t end = values.size();
    const auto sort = [&](auto before) {
        return begin + detail::partitionInPlace(values.subspan(begin, end - begin), before);
    };
    for (int round = 0; round < kMaxRounds && end - begin > kFew; ++round) {
        const auto around = detail::guessAround<T>(values.subspan(begin, end - begin), place - begin);
        const T low = around.first;
        const T high = around.second;
        const std::size_t above = sort([high](T value) { return value < high; });
        if (place < above) {
            end = above;
            const std::size_t middle = sort([low](T value) { return value < low; });
            (place >= middle ? begin : end) = middle;
        } else if (above > begin) {
            begin = above;
        } else { // many values equal the smallest
            const std::size_t least = sort([high](T value) { return !(high < value); });
            if (place < least) return begin;
            begin = least;
        }
    }
    const auto first = values.begin();
    std::nth_element(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(place),
                     first + static_cast<std::ptrdiff_t>(end));
    return begin;
}

/// The middle value (the upper one of two); 0 for an empty list. Reorders the values.
[[nodiscard]] inline TimeNs medianInPlace(std::span<TimeNs> values) {
    if (values.empty()) return TimeNs{0};
    nthElement(values, values.size() / 2);
    return values[values.size() / 2];
}

/// The same on a copy.
[[nodiscard]] inline TimeNs median(std::vector<TimeNs> values) {
    return medianInPlace(values);
}

} // namespace bubblescope
