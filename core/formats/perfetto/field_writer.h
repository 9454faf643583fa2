#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bubblescope::perfetto {

/// Writes protobuf fields one behind the other, messages within messages in place. There must be room for what is
/// written: kMaxOfField bytes for a number or a message's beginning, and as many more as a text has.
///
/// Recorders write millions of slices with this, so nothing here allocates or copies but close() of a long message.
class FieldWriter {
public:
    static constexpr std::size_t kMaxOfField = 16;

    explicit FieldWriter(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }

    void number(std::uint32_t field, std::uint64_t value) {
        tag(field, kVarint);
        varint(value);
    }
    /// Negative ones take ten bytes, as protobuf has it.
    void integer(std::uint32_t field, std::int64_t value) { number(field, static_cast<std::uint64_t>(value)); }
    void fixed(std::uint32_t field, std::uint64_t value) {
        tag(field, kFixed64);
        for (unsigned byte = 0; byte < sizeof value; ++byte)
            *at_++ = static_cast<char>(value >> 8 * byte);
    }
    void real(std::uint32_t field, double value) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        fixed(field, bits);
    }
    void text(std::uint32_t field, std::string_view text) {
        tag(field, kBytes);
        varint(text.size());
        if (!text.empty()) std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

    /// Begins a message; what is written until close() is its content.
    [[nodiscard]] char* open(std::uint32_t field) {
        tag(field, kBytes);
        return at_++; // most messages are short, and say their length in a byte
    }
    void close(char* begin) {
        const auto size = static_cast<std::size_t>(at_ - begin) - 1;
        if (size < kMore) {
            *begin = static_cast<char>(size);
            return;
        }
        std::size_t longer = 0;
        for (std::size_t rest = size; rest >= kMore; rest >>= 7U)
            ++longer;
        std::memmove(begin + 1 + longer, begin + 1, size);
        FieldWriter length(begin);
        length.varint(size);
        at_ += longer;
    }

private:
    static constexpr std::uint32_t kVarint = 0;
    static constexpr std::uint32_t kFixed64 = 1;
    static constexpr std::uint32_t kBytes = 2;
    static constexpr std::uint64_t kMore = 0x80;

    void tag(std::uint32_t field, std::uint32_t kind) { varint(field << 3U | kind); }
    void varint(std::uint64_t value) {
        for (; value >= kMore; value >>= 7U)
            *at_++ = static_cast<char>(value | kMore);
        *at_++ = static_cast<char>(value);
    }

    char* at_;
};

} // namespace bubblescope::perfetto
