#include "core/formats/perfetto/packed_packets.h"

#include <isa-l/igzip_lib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace bubblescope::perfetto {
namespace {

constexpr std::size_t kMostPacked = std::size_t{64} << 20;

/// ISA-L takes read-only input by a pointer to mutable bytes.
std::uint8_t* inputOf(std::string_view bytes) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
}

} // namespace

std::optional<std::string> inflatePackets(std::string_view packed) {
    constexpr std::size_t kPiece = std::size_t{256} << 10;
    if (packed.size() > kMostPacked) return std::nullopt;
    const auto state = std::make_unique<inflate_state>();
    isal_inflate_init(state.get());
    state->crc_flag = ISAL_ZLIB;
    state->next_in = inputOf(packed);
    state->avail_in = static_cast<std::uint32_t>(packed.size());
    std::string out;
    while (state->block_state != ISAL_BLOCK_FINISH) {
        const std::size_t before = out.size();
        if (before >= kMostPacked) return std::nullopt;
        out.resize(before + kPiece);
        state->next_out = reinterpret_cast<std::uint8_t*>(out.data() + before);
        state->avail_out = static_cast<std::uint32_t>(kPiece);
        if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return std::nullopt;
        out.resize(out.size() - state->avail_out);
        if (out.size() == before && state->block_state != ISAL_BLOCK_FINISH) return std::nullopt; // truncated
    }
    return out;
}

std::string deflatePackets(std::string_view packets) {
    constexpr std::size_t kIncompressible = 1 << 10; // headers and trailer of incompressible data
    std::vector<std::uint8_t> level(ISAL_DEF_LVL3_DEFAULT);
    isal_zstream stream{};
    isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_ZLIB;
    stream.level = 3;
    stream.level_buf = level.data();
    stream.level_buf_size = static_cast<std::uint32_t>(level.size());
    stream.next_in = inputOf(packets);
    stream.avail_in = static_cast<std::uint32_t>(packets.size());
    stream.end_of_stream = 1;
    std::string out(packets.size() + packets.size() / 8 + kIncompressible, '\0');
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream.avail_out = static_cast<std::uint32_t>(out.size());
    if (isal_deflate(&stream) != COMP_OK || stream.internal_state.state != ZSTATE_END) throw std::bad_alloc{};
    out.resize(out.size() - stream.avail_out);
    return out;
}

} // namespace bubblescope::perfetto
