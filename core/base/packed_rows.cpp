#include "core/base/packed_rows.h"

namespace bubblescope {
namespace {

constexpr std::size_t kMostBytes = 10; ///< per number, with 7 bits each
constexpr unsigned kBits = 7;
constexpr std::uint64_t kMore = 1U << kBits; ///< set if more bytes of the number follow

constexpr std::size_t maskBytes(std::size_t width) {
    return (width + 7) / 8;
}

/// Zigzag code: small for small numbers of either sign.
constexpr std::uint64_t folded(std::uint64_t difference) {
    return (difference << 1U) ^ (0 - (difference >> 63U));
}
constexpr std::uint64_t unfolded(std::uint64_t number) {
    return (number >> 1U) ^ (0 - (number & 1U));
}

} // namespace

std::vector<std::uint8_t> packRows(std::span<const std::int64_t> numbers, std::size_t width) {
    if (width == 0) return {};
    const std::size_t rows = numbers.size() / width;
    std::vector<std::uint8_t> room(rows * (maskBytes(width) + width * kMostBytes));
    std::uint8_t* out = room.data();
    const std::vector<std::int64_t> zeros(width, 0);
    const std::int64_t* before = zeros.data();
    for (std::size_t r = 0; r < rows; ++r) {
        const std::int64_t* const row = numbers.data() + r * width;
        std::uint8_t* const mask = out; // all 0
        out += maskBytes(width);
        for (std::size_t i = 0; i < width; ++i) {
            if (row[i] == before[i]) continue;
            mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | (1U << (i % 8)));
            // Differences may overflow. Unsigned arithmetic is used because it wraps in both directions.
            std::uint64_t left = folded(static_cast<std::uint64_t>(row[i]) - static_cast<std::uint64_t>(before[i]));
            while (left >= kMore) {
                *out++ = static_cast<std::uint8_t>(left | kMore);
                left >>= kBits;
            }
            *out++ = static_cast<std::uint8_t>(left);
        }
        before = row;
    }
    return {room.data(), out};
}

bool RowReader::next(std::span<std::int64_t> row) {
    const std::size_t mask_bytes = maskBytes(row.size());
    if (rest_.size() < mask_bytes) return false;
    const auto mask = rest_.first(mask_bytes);
    const std::uint8_t* at = rest_.data() + mask_bytes;
    const std::uint8_t* const end = rest_.data() + rest_.size();
    for (std::size_t byte = 0; byte < mask_bytes; ++byte) {
        for (unsigned bits = mask[byte]; bits != 0; bits &= bits - 1) {
            std::size_t i = 8 * byte;
            for (unsigned low = bits; (low & 1U) == 0; low >>= 1U)
                ++i;
            if (i >= row.size()) return false;
            std::uint64_t number = 0;
            for (unsigned shift = 0;; shift += kBits) {
                if (at == end || shift >= kBits * kMostBytes) return false;
                const std::uint64_t part = *at++;
                number |= (part & (kMore - 1)) << shift;
                if (part < kMore) break;
            }
            row[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(row[i]) + unfolded(number));
        }
    }
    rest_ = rest_.last(static_cast<std::size_t>(end - at));
    return true;
}

} // namespace bubblescope
