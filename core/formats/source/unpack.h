#pragma once

#include "core/base/result.h"
#include "core/formats/source/byte_buffer.h"
#include "core/formats/source/load_progress.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

enum class Packing { Gzip, Zstd };

/// By the first bytes.
[[nodiscard]] std::optional<Packing> packingOf(std::string_view bytes);

struct Unpacked {
    ByteBuffer bytes;
    /// Why the data end early, empty if they do not: what was unpacked until then is in `bytes`.
    std::string fault;
    bool cut_off = false;     ///< the fault is that data are missing at the end, not that they are damaged
    std::size_t fault_at = 0; ///< offset in the packed bytes
};

/// How much a file, or all that is packed within a file, of so many bytes may unpack to: 256 MiB or 150 times as much,
/// whichever is more (text traces pack 12 to 40 times), but never more than 16 GiB or three quarters of the machine's
/// memory.
[[nodiscard]] std::size_t unpackedLimit(std::size_t packed);

/// Unpacks all members (gzip) or frames (zstd) of a file; zeros behind the last are passed over. What is unpacked is
/// bounded by unpackedLimit(); while it grows it takes up to twice that. Errors: Input for a file that unpacks to more,
/// and for zstd with a window beyond 128 MiB; Cancelled within a few milliseconds.
[[nodiscard]] Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where,
                                      LoadProgress& progress);

} // namespace bubblescope
