#include "core/formats/source/pack.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::size_t kPackedPiece = std::size_t{256} << 10; // of packed bytes

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
        // ISA-L takes input that it does not write to by a pointer to mutable bytes.
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
