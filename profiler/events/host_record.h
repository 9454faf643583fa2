#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bubblescope::profiler {

/// An event that a thread of the job reported through NVTX or NCCL's profiler interface, with a TickClock time. Strings
/// and bytes are views.
struct HostRecord {
    enum class Type : std::uint8_t {
        Push = 1, ///< pushes onto the thread's stack of ranges in the domain
        Pop,
        Start, ///< start of a range that may end on any thread and need not nest
        End,
        Mark,
        CommBegin, ///< an NCCL event; `id` matches it with its end
        CommEnd,
    };
    /// The kind of value that `value` holds.
    enum class Payload : std::uint8_t { None, Unsigned, Signed, Float, Schema };

    static constexpr std::size_t kMaxText = 255;  ///< longer strings are truncated
    static constexpr std::size_t kMaxBytes = 128; ///< longer payloads are dropped
    static constexpr std::size_t kMaxWords = 56;  ///< maximum size of an encoded record

    Type type = Type::Mark;
    Payload payload = Payload::None;
    std::uint16_t depth = 0; ///< for Push and Pop: number of enclosing ranges of the thread in the domain
    std::uint16_t domain = 0;
    std::uint32_t category = 0; ///< NVTX's category, 0 = none; or NCCL's event type
    std::int64_t ticks = 0;
    std::uint64_t value = 0;       ///< bits of a number, or the number of the schema of `bytes`; see Payload
    std::uint64_t id = 0;          ///< pairs records of types Start, End, CommBegin and CommEnd
    std::uint64_t parent = 0;      ///< for CommBegin: id of the parent event, 0 = none
    std::uint32_t text_handle = 0; ///< handle of a registered string; 0 = see `text`
    std::string_view text;
    std::string_view bytes; ///< a payload with a schema; for NCCL events, see profiler/nccl/comm_event.h
};

using HostWords = std::array<std::uint64_t, HostRecord::kMaxWords>;

/// Encodes a record for EventMemory. encode() is inline because it accounts for most of the cost of recording a range.
[[nodiscard]] std::span<const std::uint64_t> encode(const HostRecord& record, HostWords& words) noexcept;

/// Decodes the result of encode(). The record refers to `words`. Returns nothing if `words` is not a valid record.
[[nodiscard]] std::optional<HostRecord> decodeHostRecord(std::span<const std::uint64_t> words);

namespace host_record {
constexpr std::size_t kFixedWords = 6;
/// Most records have only a name and a time, so their encoding leaves out the zero fields.
constexpr std::size_t kShortWords = 2;
constexpr std::uint64_t kShort = 0x80; ///< flag in the type byte

/// Length of an encoded record, given its first word.
constexpr std::size_t wordsOf(std::uint64_t head) {
    const bool is_short = (head & kShort) != 0;
    const std::size_t letters = ((head >> 16) & 0xff) + (is_short ? 0 : (head >> 24) & 0xff);
    return (is_short ? kShortWords : kFixedWords) + (letters + 7) / 8;
}
/// True if the record starts a range or event, which is lost as a whole if the record is lost.
constexpr bool begins(std::uint64_t head) {
    const auto type = static_cast<HostRecord::Type>(head & ~kShort & 0xff);
    return type != HostRecord::Type::Pop && type != HostRecord::Type::End && type != HostRecord::Type::CommEnd;
}

constexpr std::uint64_t shortHead(HostRecord::Type type, std::size_t text, std::uint16_t depth, std::uint16_t domain) {
    return static_cast<std::uint64_t>(type) | kShort | static_cast<std::uint64_t>(text) << 16 |
           std::uint64_t{depth} << 32 | std::uint64_t{domain} << 48;
}

/// Up to eight characters, starting at `at`.
inline std::uint64_t lettersAt(std::string_view text, std::size_t at) noexcept {
    const char* const from = text.data() + at;
    const std::size_t left = text.size() - at;
    std::uint64_t word = 0;
    if (left >= sizeof word) {
        __builtin_memcpy(&word, from, sizeof word);
    } else if (left >= sizeof(std::uint32_t)) { // copied as two overlapping halves
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        __builtin_memcpy(&first, from, sizeof first);
        __builtin_memcpy(&last, from + left - sizeof last, sizeof last);
        word = first | std::uint64_t{last} << 8 * (left - sizeof last);
    } else {
        for (std::size_t letter = 0; letter < left; ++letter)
            word |= std::uint64_t{static_cast<unsigned char>(from[letter])} << 8 * letter;
    }
    return word;
}
static_assert(kFixedWords * 8 + HostRecord::kMaxText + HostRecord::kMaxBytes + 16 <= HostRecord::kMaxWords * 8);
} // namespace host_record

inline std::span<const std::uint64_t> encode(const HostRecord& record, HostWords& words) noexcept {
    const std::size_t text =
        record.text.size() < HostRecord::kMaxText ? record.text.size() : std::size_t{HostRecord::kMaxText};
    const std::size_t bytes = record.bytes.size() <= HostRecord::kMaxBytes ? record.bytes.size() : 0;
    words[1] = static_cast<std::uint64_t>(record.ticks);
    const bool is_short = bytes == 0 && record.payload == HostRecord::Payload::None && record.category == 0 &&
                          (record.value | record.id | record.parent | record.text_handle) == 0;
    if (is_short) {
        words[0] = host_record::shortHead(record.type, text, record.depth, record.domain);
        std::size_t count = host_record::kShortWords;
        for (std::size_t letter = 0; letter < text; letter += sizeof(std::uint64_t))
            words[count++] = host_record::lettersAt(record.text.substr(0, text), letter);
        return {words.data(), count};
    }
    words[0] = static_cast<std::uint64_t>(record.type) | static_cast<std::uint64_t>(record.payload) << 8 |
               static_cast<std::uint64_t>(text) << 16 | static_cast<std::uint64_t>(bytes) << 24 |
               std::uint64_t{record.depth} << 32 | std::uint64_t{record.domain} << 48;
    words[2] = record.value;
    words[3] = record.id;
    words[4] = record.parent;
    words[5] = std::uint64_t{record.category} | std::uint64_t{record.text_handle} << 32;
    char* to = reinterpret_cast<char*>(&words[host_record::kFixedWords]);
    std::size_t at = 0;
    for (const auto& [from, count] : {std::pair(record.text.data(), text), std::pair(record.bytes.data(), bytes)}) {
        if (count != 0) __builtin_memcpy(to + at, from, count);
        at += count;
    }
    return {words.data(), host_record::kFixedWords + (at + 7) / 8};
}

inline std::optional<HostRecord> decodeHostRecord(std::span<const std::uint64_t> words) {
    if (words.size() < host_record::kShortWords) return std::nullopt;
    HostRecord record;
    const std::uint64_t head = words[0];
    const bool is_short = (head & host_record::kShort) != 0;
    const std::size_t fixed = is_short ? host_record::kShortWords : host_record::kFixedWords;
    if (words.size() < fixed) return std::nullopt;
    const auto type = static_cast<std::uint8_t>(head & ~host_record::kShort);
    const auto payload = static_cast<std::uint8_t>(head >> 8);
    if (type < static_cast<std::uint8_t>(HostRecord::Type::Push) ||
        type > static_cast<std::uint8_t>(HostRecord::Type::CommEnd) ||
        payload > static_cast<std::uint8_t>(HostRecord::Payload::Schema))
        return std::nullopt;
    record.type = static_cast<HostRecord::Type>(type);
    record.payload = static_cast<HostRecord::Payload>(payload);
    const std::size_t text = (head >> 16) & 0xff;
    const std::size_t bytes = is_short ? 0 : (head >> 24) & 0xff;
    record.depth = static_cast<std::uint16_t>(head >> 32);
    record.domain = static_cast<std::uint16_t>(head >> 48);
    record.ticks = static_cast<std::int64_t>(words[1]);
    if (!is_short) {
        record.value = words[2];
        record.id = words[3];
        record.parent = words[4];
        record.category = static_cast<std::uint32_t>(words[5]);
        record.text_handle = static_cast<std::uint32_t>(words[5] >> 32);
    }
    const std::span rest = words.subspan(fixed);
    if (text + bytes > rest.size_bytes()) return std::nullopt;
    const char* const letters = reinterpret_cast<const char*>(rest.data());
    record.text = {letters, text};
    record.bytes = {letters + text, bytes};
    if (is_short) record.payload = HostRecord::Payload::None;
    return record;
}

} // namespace bubblescope::profiler
