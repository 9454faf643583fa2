#include "core/formats/source/unpacking.h"

#include "core/base/core_count.h"
#include "core/base/per_thread.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace bubblescope {
namespace {

// Bytes to decompress at a time, which takes a few milliseconds; in between, the job checks for a stop.
constexpr std::size_t kStep = std::size_t{2} << 20;

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

class GzipUnpacker final : public Unpacker {
public:
    GzipUnpacker() { start(); }
    ~GzipUnpacker() override { spare() = std::move(guarded_); }
    GzipUnpacker(const GzipUnpacker&) = delete;
    GzipUnpacker& operator=(const GzipUnpacker&) = delete;

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

    /// ISA-L 2.30 follows references to before the stream's beginning, which only damaged data has, before it detects
    /// them. The farthest ones end in `before`.
    struct Guarded {
        std::array<char, std::size_t{1} << 15> before{};
        inflate_state state{};
    };
    /// Kept for the next file that this thread unpacks, because new pages would take longer than a small file.
    static std::unique_ptr<Guarded>& spare() { return perThread<std::unique_ptr<Guarded>>(); }
    static std::unique_ptr<Guarded> zeroed() {
        std::unique_ptr<Guarded> guarded = std::exchange(spare(), nullptr);
        if (guarded == nullptr) return std::make_unique<Guarded>();
        std::memset(static_cast<void*>(guarded.get()), 0, sizeof *guarded);
        return guarded;
    }
    std::unique_ptr<Guarded> guarded_ = zeroed();
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

std::string_view magicOf(Packing packing) {
    return packing == Packing::Gzip ? kGzipMagic : kZstdMagic;
}

/// True if a member or frame probably begins here.
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

} // namespace

std::optional<Packing> packingOf(std::string_view bytes) {
    for (const Packing packing : {Packing::Gzip, Packing::Zstd}) {
        if (bytes.starts_with(magicOf(packing))) return packing;
    }
    return std::nullopt;
}

std::unique_ptr<Unpacker> makeUnpacker(Packing packing) {
    if (packing == Packing::Gzip) return std::make_unique<GzipUnpacker>();
    return std::make_unique<ZstdUnpacker>();
}

Unpacking::Unpacking(std::string_view packed, Packing packing, std::size_t limit, const JobControl& control)
    : packed_(packed), packing_(packing), limit_(limit), control_(control) {}

Unpacking::State Unpacking::next(Unpacked& out) {
    if (control_.stopRequested()) return failed(Reason::Cancelled);
    if (side_by_side_) {
        if (const auto state = nextPiece(out)) return *state;
        side_by_side_ = false;
        border_ = at_ > 0;
    }
    return nextStep(out);
}

/// Nothing: the rest must be unpacked in order.
std::optional<Unpacking::State> Unpacking::nextPiece(Unpacked& out) {
    const std::size_t ahead = 2 * coreCount();
    while (ends_.size() < ahead && next_piece_ < packed_.size()) {
        const std::size_t end = endOfPiece(next_piece_);
        if (end == packed_.size() && next_piece_ == 0) return std::nullopt;
        pieces_.add([this, begin = next_piece_, end] { return piece(begin, end); });
        ends_.push_back(end);
        next_piece_ = end;
    }
    if (ends_.empty()) return at_ > 0 ? std::optional(State::Ended) : std::nullopt;
    const Piece piece = pieces_.take();
    const std::string_view text = piece.unpacked.bytes.text();
    if (!piece.whole || out.bytes.size() + text.size() > limit_) {
        for (ends_.pop_front(); !ends_.empty(); ends_.pop_front())
            pieces_.drop();
        return std::nullopt;
    }
    if (out.bytes.room() < text.size())
        out.bytes.reserve(std::min(limit_, std::max(out.bytes.size() + text.size(), out.bytes.size() * 2)));
    std::memcpy(out.bytes.end(), text.data(), text.size());
    out.bytes.grew(text.size());
    ++out.pieces;
    at_ = ends_.front();
    ends_.pop_front();
    return State::More;
}

Unpacking::State Unpacking::nextStep(Unpacked& out) {
    if (at_ >= packed_.size() && border_) return State::Ended;
    // Some writers pad the file with zeros after the last member.
    if (border_ && !packed_.substr(at_).starts_with(magicOf(packing_))) return State::Ended;
    if (!unpacker_) unpacker_ = makeUnpacker(packing_);
    if (out.bytes.room() == 0) {
        if (out.bytes.size() >= limit_) return failed(Reason::TooLong);
        out.bytes.reserve(std::min(limit_, std::max(kStep, out.bytes.size() * 2)));
    }
    const Unpacker::Outcome outcome = unpacker_->step(packed_, at_, out.bytes);
    border_ = unpacker_->atBorder();
    if (outcome == Unpacker::Outcome::More) return State::More;
    if (outcome == Unpacker::Outcome::TooWide) return failed(Reason::TooWide);
    out.cut_off = outcome == Unpacker::Outcome::NeedsInput;
    out.fault = out.cut_off ? "the compressed data is truncated" : "the compressed data is corrupt";
    out.fault_at = at_;
    return State::Ended;
}

Unpacking::State Unpacking::failed(Reason reason) {
    reason_ = reason;
    return State::Failed;
}

Error Unpacking::failure(const std::string& where) const {
    switch (reason_) {
    case Reason::Cancelled: break;
    case Reason::TooLong:
        return inputError(fmt::format("{}, byte {}", where, at_),
                          fmt::format("is not plausible: it decompresses to more than {} MB", limit_ >> 20),
                          "if you trust the file, decompress it with gunzip or zstd and open the result");
    case Reason::TooWide:
        return inputError(fmt::format("{}, byte {}", where, at_), "was compressed with a window of more than 128 MB",
                          "decompress it with zstd -d --long=31 and open the result");
    }
    return cancelledError();
}

std::size_t Unpacking::endOfPiece(std::size_t begin) const {
    constexpr std::size_t kLeast = std::size_t{128} << 10; // compressed
    for (std::size_t at = begin + kLeast; at < packed_.size(); ++at) {
        at = packed_.find(magicOf(packing_), at);
        if (at == std::string_view::npos) break;
        if (beginsHere(packed_.substr(at), packing_)) return at;
    }
    return packed_.size();
}

Unpacking::Piece Unpacking::piece(std::size_t begin, std::size_t end) const {
    constexpr std::size_t kMost = std::size_t{64} << 20; // unpacked
    const std::string_view part = packed_.substr(begin, end - begin);
    Piece piece;
    piece.unpacked.bytes.reserve(std::min(kMost, 8 * part.size()));
    Unpacking alone(part, packing_, std::min(unpackedLimit(part.size()), std::max(kMost, 40 * part.size())), control_);
    alone.inOrder();
    State state = State::More;
    while (state == State::More)
        state = alone.next(piece.unpacked);
    piece.whole = state == State::Ended && piece.unpacked.fault.empty() && alone.at() == part.size();
    return piece;
}

} // namespace bubblescope
