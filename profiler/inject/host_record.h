#pragma once

#include "profiler/recorder/latest_ring.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bubblescope::profiler {

/// Something that a thread of the job told through NVTX or NCCL's profiler interface, at a moment of the TickClock.
/// Texts and bytes are viewed, not owned.
struct HostRecord {
    enum class Type : std::uint8_t {
        Push = 1, ///< of the thread's stack of ranges in the domain
        Pop,
        Start, ///< of a range that may end on any thread, and need not nest
        End,
        Mark,
        CommBegin, ///< of an event of NCCL; `id` ties it to its end
        CommEnd,
    };
    /// What `value` holds.
    enum class Payload : std::uint8_t { None, Unsigned, Signed, Float, Schema };

    static constexpr std::size_t kMostText = 255;  ///< what is longer is cut
    static constexpr std::size_t kMostBytes = 128; ///< bytes of a payload that are longer are left out

    Type type = Type::Mark;
    Payload payload = Payload::None;
    std::uint16_t depth = 0; ///< Push and Pop: ranges around it in its domain on its thread
    std::uint16_t domain = 0;
    std::uint32_t category = 0; ///< NVTX's number, 0 for none; NCCL's type of event
    std::int64_t ticks = 0;
    std::uint64_t value = 0;       ///< see Payload: the bits of a number, or the number of a schema for `bytes`
    std::uint64_t id = 0;          ///< Start, End, CommBegin, CommEnd
    std::uint64_t parent = 0;      ///< CommBegin: the event that it belongs to, 0 for none
    std::uint32_t text_handle = 0; ///< of a registered text; 0: `text` holds it
    std::string_view text;
    std::string_view bytes; ///< of a payload with a schema; of NCCL's events see profiler/nccl/events.h
};

using HostWords = std::array<std::uint64_t, LatestRing::kMostWords>;

/// Puts a record into words, for LatestRing::push(). Inline, since it is most of what a recorded range costs.
[[nodiscard]] std::span<const std::uint64_t> encode(const HostRecord& record, HostWords& words) noexcept;

/// What encode() made. The record views `words`. Nothing where they are no record.
[[nodiscard]] std::optional<HostRecord> decodeHostRecord(std::span<const std::uint64_t> words);

namespace host_record {
constexpr std::size_t kFixedWords = 6; ///< leaves eight letters in the first slot, enough for "F12.3"
static_assert(kFixedWords * 8 + HostRecord::kMostText + HostRecord::kMostBytes + 16 <= LatestRing::kMostWords * 8);
} // namespace host_record

inline std::span<const std::uint64_t> encode(const HostRecord& record, HostWords& words) noexcept {
    const std::size_t text =
        record.text.size() < HostRecord::kMostText ? record.text.size() : std::size_t{HostRecord::kMostText};
    const std::size_t bytes = record.bytes.size() <= HostRecord::kMostBytes ? record.bytes.size() : 0;
    words[0] = static_cast<std::uint64_t>(record.type) | static_cast<std::uint64_t>(record.payload) << 8 |
               static_cast<std::uint64_t>(text) << 16 | static_cast<std::uint64_t>(bytes) << 24 |
               std::uint64_t{record.depth} << 32 | std::uint64_t{record.domain} << 48;
    words[1] = static_cast<std::uint64_t>(record.ticks);
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
    if (words.size() < host_record::kFixedWords) return std::nullopt;
    HostRecord record;
    const std::uint64_t head = words[0];
    const auto type = static_cast<std::uint8_t>(head);
    const auto payload = static_cast<std::uint8_t>(head >> 8);
    if (type < static_cast<std::uint8_t>(HostRecord::Type::Push) ||
        type > static_cast<std::uint8_t>(HostRecord::Type::CommEnd) ||
        payload > static_cast<std::uint8_t>(HostRecord::Payload::Schema))
        return std::nullopt;
    record.type = static_cast<HostRecord::Type>(type);
    record.payload = static_cast<HostRecord::Payload>(payload);
    const std::size_t text = (head >> 16) & 0xff;
    const std::size_t bytes = (head >> 24) & 0xff;
    record.depth = static_cast<std::uint16_t>(head >> 32);
    record.domain = static_cast<std::uint16_t>(head >> 48);
    record.ticks = static_cast<std::int64_t>(words[1]);
    record.value = words[2];
    record.id = words[3];
    record.parent = words[4];
    record.category = static_cast<std::uint32_t>(words[5]);
    record.text_handle = static_cast<std::uint32_t>(words[5] >> 32);
    const std::span rest = words.subspan(host_record::kFixedWords);
    if (text + bytes > rest.size_bytes()) return std::nullopt;
    const char* const letters = reinterpret_cast<const char*>(rest.data());
    record.text = {letters, text};
    record.bytes = {letters + text, bytes};
    return record;
}

} // namespace bubblescope::profiler
