#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Rows of integers in few bytes. Most numbers of a row equal those of the previous row or are close to them, so a row
// is stored as one bit per number (whether it differs) followed by the differences, of one to ten bytes each. The row
// before the first is all 0.
namespace bubblescope {

/// `numbers` holds rows of `width` numbers each. The result has no spare capacity. Linear; thread-safe.
[[nodiscard]] std::vector<std::uint8_t> packRows(std::span<const std::int64_t> numbers, std::size_t width);

/// Reads rows one after another. The bytes must outlive the reader.
class RowReader {
public:
    RowReader() = default;
    explicit RowReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

    /// Replaces `row`, which must hold the previous row (zeros at first), with the next one. False if the bytes end or
    /// are malformed; `row` is then unspecified.
    [[nodiscard]] bool next(std::span<std::int64_t> row);
    /// True if everything has been read.
    [[nodiscard]] bool done() const { return rest_.empty(); }

private:
    std::span<const std::uint8_t> rest_;
};

} // namespace bubblescope
