#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::perfetto {

/// Unpacks the zlib data of one packet, which holds packets. Nothing if they are damaged, or unpack to more than
/// 64 MB, which no writer puts into one packet.
[[nodiscard]] std::optional<std::string> inflatePackets(std::string_view packed);

} // namespace bubblescope::perfetto
