#pragma once

#include "core/base/made_ahead.h"
#include "core/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {

/// The fields of a TracePacket that matter here; texts lie in the file's bytes.
struct Packet {
    std::optional<std::int64_t> timestamp; ///< as its clock counts
    TimeNs time{0};                        ///< on the trace's clock, once that is known
    std::optional<std::uint32_t> clock;
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
    bool dropped_before = false;
    bool other_data = false;
    std::optional<std::string_view> event;
    std::optional<std::string_view> interned;
    std::optional<std::string_view> defaults;
    std::optional<std::string_view> descriptor;
    std::optional<std::string_view> clocks;
    std::optional<std::string_view> render_stage;
    std::optional<std::string_view> packed;
};

/// Throws protozero::exception where the bytes are none.
[[nodiscard]] Packet parsePacket(std::string_view body);

/// Packets that lie one behind the other.
struct PacketBatch {
    struct Entry {
        std::size_t offset = 0;
        std::optional<Packet> packet; ///< nothing where it cannot be decoded
    };
    enum class End : std::uint8_t {
        Whole,
        NoPacket,  ///< what follows is none
        BadLength, ///< the next one's cannot be read
        Cut,       ///< the file ends inside the next one
    };

    std::vector<Entry> packets;
    std::size_t next = 0;   ///< where what follows begins
    std::optional<End> end; ///< of the last batch
};

/// Decodes the packets of a trace file until it ends or breaks. Where its frame breaks, all before is good and the
/// place is known.
void decodePackets(std::string_view bytes, BatchQueue<PacketBatch>& out);

} // namespace bubblescope::perfetto
