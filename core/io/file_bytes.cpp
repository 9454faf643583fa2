#include "core/io/file_bytes.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

namespace bubblescope {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;

// Text traces pack 12 to 40 times, tiny or very even ones more; deflate cannot exceed 1032.
constexpr std::size_t kSmallLimit = std::size_t{256} << 20;
constexpr std::size_t kRatioLimit = 150;
constexpr std::size_t kTotalLimit = std::size_t{8} << 30;

constexpr std::string_view kGzipMagic = "\x1f\x8b";

struct FreeDecompressor {
    void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

std::size_t unpackedLimit(std::size_t packed) {
    return std::min(kTotalLimit, std::max(kSmallLimit, packed * kRatioLimit));
}

// The last four bytes of a gzip file are the size of its last member, modulo 2^32: a guess, not a promise.
std::size_t firstGuess(std::string_view packed) {
    std::size_t size = 0;
    if (packed.size() >= 18) {
        for (std::size_t i = 0; i < 4; ++i)
            size |= static_cast<std::size_t>(static_cast<unsigned char>(packed[packed.size() - 4 + i])) << (8 * i);
    }
    return std::clamp(size, std::size_t{4096}, std::max(std::size_t{4096}, packed.size() * 40));
}

} // namespace

Result<std::string> readFileBytes(const std::filesystem::path& file, JobControl& control) {
    const std::string where = file.string();
    std::error_code failed;
    if (std::filesystem::is_directory(file, failed)) return inputError(where, "is a folder, not a file");
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        return inputError(where, fmt::format("cannot be opened: {}", std::strerror(errno)),
                          "check the name and that you may read it");
    }
    const auto size = std::filesystem::file_size(file, failed);
    std::string bytes;
    bytes.reserve((failed ? 0 : size) + kReadPadding);
    while (stream) {
        if (control.stopRequested()) return cancelledError();
        const std::size_t old = bytes.size();
        const std::size_t want = failed || old >= size ? kChunk : std::min(kChunk, size - old);
        bytes.resize(old + want);
        stream.read(bytes.data() + old, static_cast<std::streamsize>(want));
        bytes.resize(old + static_cast<std::size_t>(stream.gcount()));
        if (!failed && bytes.size() == size && stream.peek() == std::ifstream::traits_type::eof()) break;
    }
    if (stream.bad()) return inputError(where, fmt::format("cannot be read: {}", std::strerror(errno)));
    bytes.reserve(bytes.size() + kReadPadding);
    return bytes;
}

Result<std::string> unpackGzip(std::string_view packed, const std::string& where) {
    const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
    if (!decompressor) return inputError(where, "cannot be unpacked: out of memory");
    const std::size_t limit = unpackedLimit(packed.size());
    std::string out(firstGuess(packed), '\0');
    std::size_t used = 0;   // of out
    std::size_t offset = 0; // in packed
    while (offset < packed.size()) {
        // Some writers pad the file with zeros behind the last member.
        if (packed.substr(offset, 2) != kGzipMagic && offset > 0) break;
        std::size_t consumed = 0;
        std::size_t produced = 0;
        const libdeflate_result result =
            libdeflate_gzip_decompress_ex(decompressor.get(), packed.data() + offset, packed.size() - offset,
                                          out.data() + used, out.size() - used, &consumed, &produced);
        if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
            if (out.size() >= limit) {
                return inputError(
                    fmt::format("{}, byte {}", where, offset),
                    fmt::format("unpacks to more than {} MB, which no trace of its size does", limit >> 20),
                    "unpack it with gunzip and open the result if you trust it");
            }
            out.resize(std::min(limit, out.size() * 2));
            continue;
        }
        if (result != LIBDEFLATE_SUCCESS) {
            return inputError(fmt::format("{}, byte {}", where, offset), "the gzip data are damaged or cut off",
                              "copy the file again; 'gzip -dc' may still save its beginning");
        }
        offset += consumed;
        used += produced;
        if (offset < packed.size() && out.size() == used) out.resize(std::min(limit, used * 2));
    }
    out.resize(used);
    out.reserve(used + kReadPadding);
    return out;
}

} // namespace bubblescope
