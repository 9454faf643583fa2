#pragma once

#include <optional>
#include <string>
#include <string_view>

// Packets compressed into a single packet as zlib data: TracePacket's compressed_packets.
namespace bubblescope::perfetto {

/// None if the data is corrupt or larger than 64 MB, which no writer puts into one packet.
[[nodiscard]] std::optional<std::string> inflatePackets(std::string_view packed);

/// `packets` may have at most 64 MB. Throws std::bad_alloc.
[[nodiscard]] std::string deflatePackets(std::string_view packets);

} // namespace bubblescope::perfetto
