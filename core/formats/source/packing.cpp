#include "core/formats/source/packing.h"

#include "core/parallel/parallel.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

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

namespace {

enum class Stop { End, Fault, TooLong, TooWide, Cancelled };

/// Appends what packed[at, …) unpacks to, until the data end or `goes_on(at)` is false.
template <class GoesOn>
Stop unpackOn(std::string_view packed, Packing packing, std::size_t& at, std::size_t limit, Unpacked& out,
              const GoesOn& goes_on) {
    std::unique_ptr<Unpacker> unpacker;
    if (packing == Packing::Gzip)
        unpacker = std::make_unique<GzipUnpacker>();
    else
        unpacker = std::make_unique<ZstdUnpacker>();

    bool border = at > 0; // a member ended there
    while (at < packed.size() || !border) {
        // Some writers pad the file with zeros after the last member.
        if (border && !packed.substr(at).starts_with(magicOf(packing))) break;
        if (!goes_on(at)) return Stop::Cancelled;
        if (out.bytes.room() == 0) {
            if (out.bytes.size() >= limit) return Stop::TooLong;
            out.bytes.reserve(std::min(limit, std::max(kStep, out.bytes.size() * 2)));
        }
        const Unpacker::Outcome outcome = unpacker->step(packed, at, out.bytes);
        border = unpacker->atBorder();
        if (outcome == Unpacker::Outcome::More) continue;
        if (outcome == Unpacker::Outcome::TooWide) return Stop::TooWide;
        out.cut_off = outcome == Unpacker::Outcome::NeedsInput;
        out.fault = out.cut_off ? "the packed data are cut off" : "the packed data are damaged";
        out.fault_at = at;
        return Stop::Fault;
    }
    return Stop::End;
}

/// Whether a member or frame probably begins here.
bool beginsHere(std::string_view packed, Packing packing) {
    constexpr std::size_t kGzipHeader = 10;
    constexpr char kDeflate = 8;
    constexpr unsigned kReservedFlags = 0xe0;
    if (!packed.starts_with(magicOf(packing))) return false;
    if (packing == Packing::Zstd) return true;
    if (packed.size() < kGzipHeader || packed[2] != kDeflate) return false;
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(packed[at])); };
    const unsigned effort = byte(8);
    const unsigned system = byte(9);
    return (byte(3) & kReservedFlags) == 0 && (effort == 0 || effort == 2 || effort == 4) &&
           (system <= 13 || system == 255);
}

/// Unpacks the members or frames of a file in parallel, if there are several. Where one begins is guessed by
/// its first bytes, and a piece is used only if its data end exactly where the next one begins: what is left is for the
/// caller, who knows that a member ended there.
class SideBySide {
public:
    SideBySide(std::string_view packed, Packing packing, const JobControl& control)
        : packed_(packed), packing_(packing), control_(control) {}

    /// Appends to `out` and returns how far it got; 0 if nothing could be unpacked so.
    std::size_t run(std::size_t limit, Unpacked& out, LoadProgress& progress) {
        const std::size_t ahead = 2 * std::max(1U, std::thread::hardware_concurrency());
        std::deque<std::size_t> ends;
        std::size_t done = 0;
        std::size_t next = 0;
        OrderedTasks<Piece> pieces;
        for (;;) {
            while (ends.size() < ahead && next < packed_.size()) {
                const std::size_t end = endOf(next);
                if (end == packed_.size() && next == 0) return 0;
                pieces.add([this, next, end] { return unpacked(packed_.substr(next, end - next)); });
                ends.push_back(end);
                next = end;
            }
            if (ends.empty() || !progress.reached(done, packed_.size())) return done;
            const Piece piece = pieces.take();
            const std::string_view text = piece.unpacked.bytes.text();
            if (!piece.whole || out.bytes.size() + text.size() > limit) return done;
            if (out.bytes.room() < text.size())
                out.bytes.reserve(std::min(limit, std::max(out.bytes.size() + text.size(), out.bytes.size() * 2)));
            std::memcpy(out.bytes.end(), text.data(), text.size());
            out.bytes.grew(text.size());
            ++out.pieces;
            done = ends.front();
            ends.pop_front();
        }
    }

private:
    static constexpr std::size_t kLeastPiece = std::size_t{128} << 10; ///< packed
    static constexpr std::size_t kPieceLimit = std::size_t{64} << 20;  ///< unpacked

    struct Piece {
        Unpacked unpacked;
        bool whole = false;
    };

    [[nodiscard]] std::size_t endOf(std::size_t begin) const {
        for (std::size_t at = begin + kLeastPiece; at < packed_.size(); ++at) {
            at = packed_.find(magicOf(packing_), at);
            if (at == std::string_view::npos) break;
            if (beginsHere(packed_.substr(at), packing_)) return at;
        }
        return packed_.size();
    }

    [[nodiscard]] Piece unpacked(std::string_view part) const {
        Piece piece;
        piece.unpacked.bytes.reserve(std::min(kPieceLimit, 8 * part.size()));
        std::size_t at = 0;
        const Stop stop =
            unpackOn(part, packing_, at, std::min(unpackedLimit(part.size()), std::max(kPieceLimit, 40 * part.size())),
                     piece.unpacked, [this](std::size_t) { return !control_.stopRequested(); });
        piece.whole = stop == Stop::End && at == part.size();
        return piece;
    }

    std::string_view packed_;
    Packing packing_;
    const JobControl& control_;
};

} // namespace

Result<Unpacked> unpack(std::string_view packed, Packing packing, const std::string& where, LoadProgress& progress) {
    const std::size_t limit = unpackedLimit(packed.size());
    Unpacked out;
    out.bytes.reserve(firstGuess(packed, packing));
    std::size_t at = SideBySide(packed, packing, progress.control()).run(limit, out, progress);
    if (progress.stopRequested()) return cancelledError();
    if (at > 0 && at == packed.size()) return out;
    const Stop stop = unpackOn(packed, packing, at, limit, out,
                               [&](std::size_t reached) { return progress.reached(reached, packed.size()); });
    if (stop == Stop::Cancelled) return cancelledError();
    if (stop == Stop::TooLong) {
        return inputError(fmt::format("{}, byte {}", where, at),
                          fmt::format("unpacks to more than {} MB, which no trace of its size does", limit >> 20),
                          "unpack it with gunzip or zstd and open the result if you trust it");
    }
    if (stop == Stop::TooWide) {
        return inputError(fmt::format("{}, byte {}", where, at), "was packed with a window of more than 128 MB",
                          "unpack it with zstd -d --long=31 and open the result");
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

/// Frames of some megabytes each, which are unpacked in parallel.
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
