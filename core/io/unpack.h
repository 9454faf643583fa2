#pragma once

#include "core/base/result.h"
#include "core/io/byte_buffer.h"
#include "core/io/load_progress.h"

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

/// Unpacks all members (gzip) or frames (zstd) of a file; zeros behind the last are passed over. What is unpacked is
/// bounded. Errors: Input for a file that unpacks to absurdly much, Cancelled within a few milliseconds.
[[nodiscard]] Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where,
                                      LoadProgress& progress);

} // namespace bubblescope
