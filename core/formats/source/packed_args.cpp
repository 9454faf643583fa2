#include "core/formats/source/packed_args.h"

#include "core/base/core_count.h"
#include "core/base/per_thread.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

// An offset combines the number of a block and the place in it. A block is full when it exceeds its size.
constexpr int kBlockShift = 17;
constexpr std::size_t kBlock = std::size_t{1} << kBlockShift;

struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::string compressed(std::string_view text) {
    constexpr int kFastest = 1;
    struct Compressor {
        std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
        std::vector<char> room;
    };
    auto& [context, room] = perThread<Compressor>();
    if (!context) throw std::bad_alloc{};
    room.resize(std::max(room.size(), ZSTD_compressBound(text.size())));
    const std::size_t size =
        ZSTD_compressCCtx(context.get(), room.data(), room.size(), text.data(), text.size(), kFastest);
    if (ZSTD_isError(size) != 0) throw std::bad_alloc{}; // the only possible reason
    return {room.data(), size};
}

std::string decompressed(std::string_view packed) {
    struct Decompressor {
        std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
    };
    auto& [context] = perThread<Decompressor>();
    if (!context) throw std::bad_alloc{};
    std::string text(static_cast<std::size_t>(ZSTD_getFrameContentSize(packed.data(), packed.size())), '\0');
    const std::size_t size = ZSTD_decompressDCtx(context.get(), text.data(), text.size(), packed.data(), packed.size());
    if (ZSTD_isError(size) != 0) throw std::bad_alloc{};
    return text;
}

using BlockText = std::shared_ptr<const std::string>;

/// The blocks that a thread read last: neighbours on a row are usually in one block, an arrow's two ends in two.
class RecentBlocks {
public:
    template <class Read>
    [[nodiscard]] BlockText get(std::uint64_t owner, std::uint64_t block, const Read& read) {
        for (Entry& entry : entries_) {
            if (entry.text == nullptr || entry.owner != owner || entry.block != block) continue;
            entry.used = ++now_;
            return entry.text;
        }
        Entry& oldest = *std::ranges::min_element(entries_, {}, &Entry::used);
        BlockText text = std::make_shared<const std::string>(read());
        if (text->size() < 8 * kBlock) oldest = {owner, block, ++now_, text};
        return text;
    }

private:
    struct Entry {
        std::uint64_t owner = 0;
        std::uint64_t block = 0;
        std::uint64_t used = 0;
        BlockText text;
    };
    std::array<Entry, 4> entries_;
    std::uint64_t now_ = 0;
};

std::uint64_t nextNumber() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

} // namespace

class ArgPacker::Blocks {
public:
    void add(std::string block) { blocks_.push_back(std::move(block)); }
    void giveBack() { blocks_.shrink_to_fit(); }

    [[nodiscard]] static std::uint64_t placeIn(std::uint64_t offset) { return offset & (kBlock - 1); }
    [[nodiscard]] BlockText blockOf(std::uint64_t offset) const {
        auto& recent = perThread<RecentBlocks>();
        const std::uint64_t block = offset >> kBlockShift;
        return recent.get(number_, block, [&] { return decompressed(blocks_[block]); });
    }

private:
    std::uint64_t number_ = nextNumber();
    std::vector<std::string> blocks_;
};

class ArgPacker::JsonReader final : public ArgReader {
public:
    explicit JsonReader(std::shared_ptr<const Blocks> blocks) : blocks_(std::move(blocks)) {}

    void visit(std::string_view, std::uint64_t offset, const ArgVisit& visit) const override {
        const BlockText block = blocks_->blockOf(offset);
        for (const Arg& arg : parseJsonArgs(jsonObjectAt(*block, Blocks::placeIn(offset)))) {
            const auto value = std::visit([](const auto& held) -> decltype(ArgView::value) { return held; }, arg.value);
            if (!visit({arg.name, value})) return;
        }
    }
    [[nodiscard]] std::optional<std::string> object(std::string_view, std::uint64_t offset) const override {
        const BlockText block = blocks_->blockOf(offset);
        return std::string(jsonObjectAt(*block, Blocks::placeIn(offset)));
    }

private:
    std::shared_ptr<const Blocks> blocks_;
};

class ArgPacker::FormatReader final : public ArgReader {
public:
    FormatReader(std::shared_ptr<const Blocks> blocks, std::shared_ptr<const ArgReader> format)
        : blocks_(std::move(blocks)), format_(std::move(format)) {}

    void visit(std::string_view, std::uint64_t offset, const ArgVisit& visit) const override {
        const BlockText block = blocks_->blockOf(offset);
        format_->visit(*block, Blocks::placeIn(offset), visit);
    }

private:
    std::shared_ptr<const Blocks> blocks_;
    std::shared_ptr<const ArgReader> format_;
};

ArgPacker::ArgPacker() : blocks_(std::make_shared<Blocks>()) {}
ArgPacker::~ArgPacker() = default;

std::uint64_t ArgPacker::add(std::string_view bytes) {
    const std::uint64_t offset = begun_ << kBlockShift | block_.size();
    block_ += bytes;
    if (block_.size() >= kBlock) endBlock();
    return offset;
}

void ArgPacker::endBlock() {
    const std::size_t ahead = 4 * coreCount();
    if (packed_.size() >= ahead) takeBlock();
    packed_.add([text = std::exchange(block_, {})] { return compressed(text); });
    block_.reserve(kBlock + kBlock / 8);
    ++begun_;
}

void ArgPacker::takeBlock() {
    blocks_->add(packed_.take());
}

void ArgPacker::finish() {
    if (!block_.empty()) endBlock();
    while (packed_.size() > 0)
        takeBlock();
    blocks_->giveBack();
}

std::shared_ptr<const ArgReader> ArgPacker::reader() const {
    return std::make_shared<const JsonReader>(blocks_);
}

std::shared_ptr<const ArgReader> ArgPacker::readerWith(std::shared_ptr<const ArgReader> format) const {
    return std::make_shared<const FormatReader>(blocks_, std::move(format));
}

} // namespace bubblescope
