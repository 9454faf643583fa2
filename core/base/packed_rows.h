#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Rows of whole numbers in few bytes. Most numbers of a row are those of the row before it, or near to them: a row is a
// bit for each number that differs, and the differences, of which small ones take one byte and the largest ten. The row
// before the first is all 0.
namespace bubblescope {

/// `numbers` are rows of `width` numbers each. The result has no slack. Linear; thread-safe.
[[nodiscard]] std::vector<std::uint8_t> packRows(std::span<const std::int64_t> numbers, std::size_t width);

/// Reads rows one after another. The bytes must outlive it.
class RowReader {
public:
    RowReader() = default;
    explicit RowReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

    /// Makes `row` the next row; it must hold the one before, of 0 at first. False, and `row` may be anything, if the
    /// bytes end or are no row.
    [[nodiscard]] bool next(std::span<std::int64_t> row);
    /// Whether all was read.
    [[nodiscard]] bool done() const { return rest_.empty(); }

private:
    std::span<const std::uint8_t> rest_;
};

} // namespace bubblescope
