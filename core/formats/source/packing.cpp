#include "core/formats/source/packing.h"

#include "core/formats/source/unpacking.h"

#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope {
namespace {

// Text traces compress 12 to 40 times, tiny or very uniform ones more; deflate cannot exceed 1032.
constexpr std::size_t kSmallLimit = std::size_t{256} << 20;
constexpr std::size_t kRatioLimit = 150;
constexpr std::size_t kTotalLimit = std::size_t{16} << 30;

/// Three quarters of the machine's memory, if known.
std::size_t memoryLimit() {
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 4 * 3;
#endif
    return kTotalLimit;
}

// The last four bytes of a gzip file are the size of its last member, modulo 2^32, and a zstd frame may contain its
// size. These are only hints.
std::size_t firstGuess(std::string_view packed, Packing packing) {
    std::size_t size = 0;
    if (packing == Packing::Gzip && packed.size() >= 18) {
        for (std::size_t i = 0; i < 4; ++i)
            size |= static_cast<std::size_t>(static_cast<unsigned char>(packed[packed.size() - 4 + i])) << (8 * i);
    }
    if (packing == Packing::Zstd) {
        const unsigned long long stated = ZSTD_getFrameContentSize(packed.data(), packed.size());
        if (stated < ZSTD_CONTENTSIZE_ERROR) size = static_cast<std::size_t>(stated);
    }
    return std::clamp(size + 1, std::size_t{4096}, std::max(std::size_t{4096}, packed.size() * 40));
}

} // namespace

std::size_t readLimit() {
    return std::min(kTotalLimit, memoryLimit());
}

std::size_t unpackedLimit(std::size_t packed) {
    return std::min({kTotalLimit, memoryLimit(), std::max(kSmallLimit, packed * kRatioLimit)});
}

Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where, LoadProgress& progress) {
    const std::size_t limit = unpackedLimit(packed.size());
    Unpacked out;
    out.bytes = ByteBuffer::besideOthers(firstGuess(packed, packing));
    Unpacking unpacking(packed, packing, limit, progress.control());
    for (;;) {
        if (!progress.reached(unpacking.at(), packed.size())) return cancelledError();
        switch (unpacking.next(out)) {
        case Unpacking::State::More: continue;
        case Unpacking::State::Ended: return out;
        case Unpacking::State::Failed: return unpacking.failure(where);
        }
    }
}

std::string unpackedBeginning(std::string_view packed, Packing packing, std::size_t most) {
    Unpacked out;
    out.bytes.reserve(most);
    const JobControl control;
    Unpacking unpacking(packed, packing, most, control);
    unpacking.inOrder();
    while (out.bytes.room() > 0 && unpacking.next(out) == Unpacking::State::More) {
    }
    return std::string(out.bytes.text());
}

namespace {

constexpr std::size_t kPackedPiece = std::size_t{256} << 10; // of compressed bytes

class GzipPacker final : public Packer {
public:
    GzipPacker() : level_(ISAL_DEF_LVL2_DEFAULT), piece_(kPackedPiece) {
        isal_deflate_init(&stream_);
        stream_.gzip_flag = IGZIP_GZIP;
        stream_.level = 2;
        stream_.level_buf = level_.data();
        stream_.level_buf_size = static_cast<std::uint32_t>(level_.size());
    }

    bool add(std::string_view bytes, std::string& out) override {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kLongest))) {
            if (!run(bytes.substr(0, kLongest), false, out)) return false;
        }
        return true;
    }
    bool finish(std::string& out) override { return run({}, true, out); }

private:
    static constexpr std::size_t kLongest = std::size_t{1} << 30; // ISA-L counts in 32 bits

    bool run(std::string_view bytes, bool last, std::string& out) {
        // ISA-L takes read-only input by a pointer to mutable bytes.
        stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
        stream_.avail_in = static_cast<std::uint32_t>(bytes.size());
        stream_.end_of_stream = last ? 1 : 0;
        do {
            stream_.next_out = piece_.data();
            stream_.avail_out = static_cast<std::uint32_t>(piece_.size());
            if (isal_deflate(&stream_) != COMP_OK) return false;
            out.append(reinterpret_cast<const char*>(piece_.data()), piece_.size() - stream_.avail_out);
        } while (stream_.avail_out == 0);
        return true;
    }

    isal_zstream stream_{};
    std::vector<std::uint8_t> level_;
    std::vector<std::uint8_t> piece_;
};

/// Frames of a few megabytes each, which can be unpacked in parallel.
class ZstdPacker final : public Packer {
public:
    ZstdPacker() : context_(ZSTD_createCCtx()) {
        if (context_) ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    bool add(std::string_view bytes, std::string& out) override {
        while (pending_.size() + bytes.size() >= kFrame) {
            const std::size_t taken = kFrame - pending_.size();
            pending_ += bytes.substr(0, taken);
            bytes.remove_prefix(taken);
            if (!frame(out)) return false;
        }
        pending_ += bytes;
        return true;
    }
    bool finish(std::string& out) override { return (pending_.empty() && any_) || frame(out); }

private:
    static constexpr std::size_t kFrame = std::size_t{4} << 20; ///< unpacked

    bool frame(std::string& out) {
        if (!context_) return false;
        const std::size_t before = out.size();
        out.resize(before + ZSTD_compressBound(pending_.size()));
        const std::size_t size =
            ZSTD_compress2(context_.get(), out.data() + before, out.size() - before, pending_.data(), pending_.size());
        if (ZSTD_isError(size) != 0) return false;
        out.resize(before + size);
        pending_.clear();
        any_ = true;
        return true;
    }

    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> context_;
    std::string pending_;
    bool any_ = false; ///< a frame was written
};

} // namespace

std::optional<Packing> packingAskedFor(const std::filesystem::path& file) {
    if (file.extension() == ".gz") return Packing::Gzip;
    if (file.extension() == ".zst") return Packing::Zstd;
    return std::nullopt;
}

std::unique_ptr<Packer> makePacker(Packing packing) {
    if (packing == Packing::Gzip) return std::make_unique<GzipPacker>();
    return std::make_unique<ZstdPacker>();
}

} // namespace bubblescope
