#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Compact storage for rows of integers. Most numbers in a row equal those of the previous row or are close to them. A
// row is therefore stored as one bit per number (1 if it differs), followed by the differences in one to ten bytes
// each. The first row is compared with zeros.
namespace bubblescope {

/// `numbers` contains rows of `width` numbers each. The result has no spare capacity. Linear; thread-safe.
[[nodiscard]] std::vector<std::uint8_t> packRows(std::span<const std::int64_t> numbers, std::size_t width);

/// Reads packed rows one after another. The bytes must outlive the reader.
class RowReader {
public:
    RowReader() = default;
    explicit RowReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

    /// Replaces `row`, which must contain the previous row (zeros for the first one), with the next row. Returns false
    /// if no bytes are left or the bytes are malformed; `row` is then unspecified.
    [[nodiscard]] bool next(std::span<std::int64_t> row);
    /// True if all rows have been read.
    [[nodiscard]] bool done() const { return rest_.empty(); }

private:
    std::span<const std::uint8_t> rest_;
};

} // namespace bubblescope
