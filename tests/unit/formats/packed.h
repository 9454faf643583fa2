#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::test {

inline std::string gzipped(std::string_view text, std::uint16_t format = IGZIP_GZIP) {
    std::string out(text.size() + text.size() / 8 + 1024, '\0');
    isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = format;
    std::vector<std::uint8_t> tables(ISAL_DEF_LVL1_DEFAULT); // made for the text, so even ones pack 1000 : 1
    stream.level = 1;
    stream.level_buf = tables.data();
    stream.level_buf_size = static_cast<std::uint32_t>(tables.size());
    stream.end_of_stream = 1;
    stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<std::uint32_t>(text.size());
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream.avail_out = static_cast<std::uint32_t>(out.size());
    isal_deflate_stateless(&stream);
    out.erase(out.size() - stream.avail_out);
    return out;
}

inline std::string zstdPacked(std::string_view text) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    out.erase(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
    ZSTD_freeCCtx(context);
    return out;
}

} // namespace bubblescope::test
