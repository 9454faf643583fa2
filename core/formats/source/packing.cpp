#include "core/formats/source/packing.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#endif

namespace bubblescope {
namespace {

// Text traces compress 12 to 40 times, tiny or very uniform ones more; deflate cannot exceed 1032.
constexpr std::size_t kSmallLimit = std::size_t{256} << 20;
constexpr std::size_t kRatioLimit = 150;
constexpr std::size_t kTotalLimit = std::size_t{16} << 30;

// Decompressed at a time: a few milliseconds, between which the job is checked for a stop.
constexpr std::size_t kStep = std::size_t{2} << 20;

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

/// Three quarters of the machine's memory, if it is known.
std::size_t memoryLimit() {
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 4 * 3;
#endif
    return kTotalLimit;
}

/// Decompresses a stream piece by piece. When `packed` is used up, `done` is whether the stream may end there.
class Unpacker {
public:
    enum class Outcome { More, NeedsInput, Damaged, TooWide };

    Unpacker() = default;
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;
    virtual ~Unpacker() = default;

    /// Decompresses from packed[at..) into the room of `out`, at most kStep bytes.
    virtual Outcome step(std::string_view packed, std::size_t& at, ByteBuffer& out) = 0;
    /// Whether the data may end here.
    [[nodiscard]] virtual bool atBorder() const = 0;
};

class GzipUnpacker final : public Unpacker {
public:
    GzipUnpacker() { start(); }

    Outcome step(std::string_view packed, std::size_t& at, ByteBuffer& out) override {
        if (state_->block_state == ISAL_BLOCK_FINISH) start();
        const std::size_t given = std::min(packed.size() - at, kMaxPiece);
        const std::size_t room = std::min(out.room(), kStep);
        // ISA-L takes read-only input by a pointer to mutable bytes.
        state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data() + at));
        state_->avail_in = static_cast<std::uint32_t>(given);
        state_->next_out = reinterpret_cast<std::uint8_t*>(out.end());
        state_->avail_out = static_cast<std::uint32_t>(room);
        const int result = isal_inflate(state_);
        const std::size_t produced = room - state_->avail_out;
        // If the input ends within a block's header, ISA-L counts one byte more than it was given.
        const bool beyond = state_->avail_in > given;
        const std::size_t consumed = beyond ? given : given - state_->avail_in;
        out.grew(produced);
        at += consumed;
        if (beyond) return Outcome::NeedsInput;
        if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT) return Outcome::Damaged;
        if (state_->block_state == ISAL_BLOCK_FINISH) return Outcome::More;
        return produced == 0 && consumed == 0 ? Outcome::NeedsInput : Outcome::More;
    }

    [[nodiscard]] bool atBorder() const override { return state_->block_state == ISAL_BLOCK_FINISH; }

private:
    static constexpr std::size_t kMaxPiece = std::size_t{1} << 30;

    void start() {
        isal_inflate_init(state_);
        state_->crc_flag = ISAL_GZIP;
    }

    /// ISA-L 2.30 follows references that lead before the stream's beginning, which only damaged data hold, before it
    /// notices. The farthest end in `before`.
    struct Guarded {
        std::array<char, std::size_t{1} << 15> before{};
        inflate_state state{};
    };
    std::unique_ptr<Guarded> guarded_ = std::make_unique<Guarded>();
    inflate_state* state_ = &guarded_->state;
};

class ZstdUnpacker final : public Unpacker {
public:
    ZstdUnpacker() : stream_(ZSTD_createDStream()) {
        if (stream_) ZSTD_initDStream(stream_.get());
    }

    Outcome step(std::string_view packed, std::size_t& at, ByteBuffer& out) override {
        if (!stream_) return Outcome::Damaged;
        ZSTD_inBuffer input{packed.data() + at, packed.size() - at, 0};
        ZSTD_outBuffer output{out.end(), std::min(out.room(), kStep), 0};
        rest_ = ZSTD_decompressStream(stream_.get(), &output, &input);
        out.grew(output.pos);
        at += input.pos;
        if (ZSTD_getErrorCode(rest_) == ZSTD_error_frameParameter_windowTooLarge) return Outcome::TooWide;
        if (ZSTD_isError(rest_) != 0) return Outcome::Damaged;
        return output.pos == 0 && input.pos == 0 ? Outcome::NeedsInput : Outcome::More;
    }

    [[nodiscard]] bool atBorder() const override { return rest_ == 0; }

private:
    struct Free {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };
    std::unique_ptr<ZSTD_DStream, Free> stream_;
    std::size_t rest_ = 1;
};

// The last four bytes of a gzip file are the size of its last member, modulo 2^32, and a zstd frame may state its size:
// hints, not guarantees.
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

std::string_view magicOf(Packing packing) {
    return packing == Packing::Gzip ? kGzipMagic : kZstdMagic;
}

} // namespace

std::size_t readLimit() {
    return std::min(kTotalLimit, memoryLimit());
}

std::size_t unpackedLimit(std::size_t packed) {
    return std::min({kTotalLimit, memoryLimit(), std::max(kSmallLimit, packed * kRatioLimit)});
}

std::optional<Packing> packingOf(std::string_view bytes) {
    for (const Packing packing : {Packing::Gzip, Packing::Zstd}) {
        if (bytes.starts_with(magicOf(packing))) return packing;
    }
    return std::nullopt;
}

Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where, LoadProgress& progress) {
    std::unique_ptr<Unpacker> unpacker;
    if (packing == Packing::Gzip)
        unpacker = std::make_unique<GzipUnpacker>();
    else
        unpacker = std::make_unique<ZstdUnpacker>();

    const std::size_t limit = unpackedLimit(packed.size());
    Unpacked out;
    out.bytes.reserve(firstGuess(packed, packing));
    std::size_t at = 0;
    bool border = false;
    while (at < packed.size() || !border) {
        // Some writers pad the file with zeros after the last member.
        if (border && !packed.substr(at).starts_with(magicOf(packing))) break;
        if (!progress.reached(at, packed.size())) return cancelledError();
        if (out.bytes.room() == 0) {
            if (out.bytes.size() >= limit) {
                return inputError(
                    fmt::format("{}, byte {}", where, at),
                    fmt::format("unpacks to more than {} MB, which no trace of its size does", limit >> 20),
                    "unpack it with gunzip or zstd and open the result if you trust it");
            }
            out.bytes.reserve(std::min(limit, std::max(kStep, out.bytes.size() * 2)));
        }
        const Unpacker::Outcome outcome = unpacker->step(packed, at, out.bytes);
        border = unpacker->atBorder();
        if (outcome == Unpacker::Outcome::More) continue;
        if (outcome == Unpacker::Outcome::TooWide) {
            return inputError(fmt::format("{}, byte {}", where, at), "was packed with a window of more than 128 MB",
                              "unpack it with zstd -d --long=31 and open the result");
        }
        out.cut_off = outcome == Unpacker::Outcome::NeedsInput;
        out.fault = out.cut_off ? "the packed data are cut off" : "the packed data are damaged";
        out.fault_at = at;
        break;
    }
    return out;
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

class ZstdPacker final : public Packer {
public:
    ZstdPacker() : context_(ZSTD_createCCtx()), piece_(kPackedPiece) {
        if (context_) ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    }

    bool add(std::string_view bytes, std::string& out) override { return run(bytes, ZSTD_e_continue, out); }
    bool finish(std::string& out) override { return run({}, ZSTD_e_end, out); }

private:
    bool run(std::string_view bytes, ZSTD_EndDirective directive, std::string& out) {
        if (!context_) return false;
        ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
        for (;;) {
            ZSTD_outBuffer output{piece_.data(), piece_.size(), 0};
            const std::size_t rest = ZSTD_compressStream2(context_.get(), &output, &input, directive);
            if (ZSTD_isError(rest) != 0) return false;
            out.append(piece_.data(), output.pos);
            if (directive == ZSTD_e_end ? rest == 0 : input.pos == input.size) return true;
        }
    }

    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> context_;
    std::vector<char> piece_;
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
