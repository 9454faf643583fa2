#pragma once

#include <optional>
#include <string>
#include <string_view>

// Packets that are compressed into one, as zlib data: TracePacket's compressed_packets.
namespace bubblescope::perfetto {

/// Nothing if the data is damaged or exceeds 64 MB, which no writer puts into one packet.
[[nodiscard]] std::optional<std::string> inflatePackets(std::string_view packed);

/// At most 64 MB. Throws std::bad_alloc.
[[nodiscard]] std::string deflatePackets(std::string_view packets);

} // namespace bubblescope::perfetto
