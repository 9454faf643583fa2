#include "core/formats/perfetto/inflate.h"

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <memory>

namespace bubblescope::perfetto {

std::optional<std::string> inflatePackets(std::string_view packed) {
    constexpr std::size_t kLimit = std::size_t{64} << 20;
    constexpr std::size_t kPiece = std::size_t{256} << 10;
    if (packed.size() > kLimit) return std::nullopt;
    const auto state = std::make_unique<inflate_state>();
    isal_inflate_init(state.get());
    state->crc_flag = ISAL_ZLIB;
    // ISA-L takes input that it does not write to by a pointer to mutable bytes.
    state->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));
    state->avail_in = static_cast<std::uint32_t>(packed.size());
    std::string out;
    while (state->block_state != ISAL_BLOCK_FINISH) {
        const std::size_t before = out.size();
        if (before >= kLimit) return std::nullopt;
        out.resize(before + kPiece);
        state->next_out = reinterpret_cast<std::uint8_t*>(out.data() + before);
        state->avail_out = static_cast<std::uint32_t>(kPiece);
        if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return std::nullopt;
        out.resize(out.size() - state->avail_out);
        if (out.size() == before && state->block_state != ISAL_BLOCK_FINISH) return std::nullopt; // cut off
    }
    return out;
}

} // namespace bubblescope::perfetto
