#include "core/formats/chrome/batch_pipeline.h"

#include "core/formats/chrome/event_parser.h"

#include <algorithm>

namespace bubblescope::chrome {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
/// How far behind a piece's least size a border is looked for; also bounds how long nobody looks whether to stop.
constexpr std::size_t kSearchBytes = std::size_t{16} << 20;
constexpr std::size_t kAheadPerThread = 3;

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skipSpace(std::string_view text, std::size_t at) {
    const std::size_t found = text.find_first_not_of(kSpace, at);
    return found == std::string_view::npos ? text.size() : found;
}

/// `{ "key"` at an offset: the key with its quotes; empty if something else stands there.
std::string_view keyAt(std::string_view text, std::size_t at) {
    if (at >= text.size() || text[at] != '{') return {};
    const std::size_t begin = skipSpace(text, at + 1);
    if (begin >= text.size() || text[begin] != '"') return {};
    const std::size_t end = text.find('"', begin + 1);
    return end == std::string_view::npos ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

} // namespace

BatchPipeline::BatchPipeline(std::string_view text, std::size_t begin, unsigned threads)
    : text_(text), first_key_(keyAt(text, begin)), max_ahead_(threads * kAheadPerThread), next_begin_(begin) {
    if (first_key_.empty() || text.size() - begin < 2 * kPieceBytes) return;
    for (unsigned i = 0; i < threads; ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

BatchPipeline::~BatchPipeline() {
    for (std::jthread& thread : threads_)
        thread.request_stop();
    changed_.notify_all();
}

std::optional<std::size_t> BatchPipeline::borderAfter(std::size_t offset, std::size_t within) const {
    const std::size_t limit = std::min(text_.size(), offset + within);
    for (std::size_t at = offset; at < limit;) {
        at = text_.find('}', at);
        if (at == std::string_view::npos || at >= limit) return std::nullopt;
        const std::size_t comma = skipSpace(text_, ++at);
        if (comma >= limit || text_[comma] != ',') continue;
        const std::size_t brace = skipSpace(text_, comma + 1);
        if (keyAt(text_.substr(0, std::min(text_.size(), brace + 64)), brace) == first_key_) return brace;
    }
    return std::nullopt;
}

void BatchPipeline::work(const std::stop_token& stop) {
    EventParser parser;
    for (;;) {
        std::shared_ptr<Slot> slot;
        std::size_t end = 0;
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return exhausted_ || slots_.size() < max_ahead_; })) return;
            if (exhausted_ || stop.stop_requested()) return;
            const auto border = borderAfter(next_begin_ + kPieceBytes, kSearchBytes);
            if (!border) { // what is left is for the reader, who knows where the array ends
                exhausted_ = true;
                changed_.notify_all();
                return;
            }
            slot = slots_.emplace_back(std::make_shared<Slot>(Slot{next_begin_, false, nullptr}));
            end = *border;
            next_begin_ = *border;
        }
        changed_.notify_all();
        auto piece = std::make_unique<Piece>();
        piece->begin = slot->begin;
        // Back over the comma, so that the text holds events only.
        piece->end = text_.find_last_of('}', end - 1) + 1;
        const std::string_view events = text_.substr(piece->begin, piece->end - piece->begin);
        if (!parser.parse(events, piece->begin, piece->batch)) piece.reset();
        {
            const std::lock_guard lock(mutex_);
            slot->piece = std::move(piece);
            slot->done = true;
        }
        changed_.notify_all();
    }
}

std::unique_ptr<BatchPipeline::Piece> BatchPipeline::take(std::size_t offset) {
    if (threads_.empty()) return nullptr;
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!slots_.empty() && slots_.front()->begin < offset) {
            slots_.pop_front();
            changed_.notify_all();
            continue;
        }
        if (!slots_.empty() || exhausted_ || next_begin_ > offset) break;
        next_begin_ = offset; // where the reader is, an event begins for certain
        changed_.notify_all();
        changed_.wait(lock, [&] { return exhausted_ || (!slots_.empty() && slots_.front()->begin >= offset); });
    }
    if (slots_.empty() || slots_.front()->begin != offset) return nullptr;
    const std::shared_ptr<Slot> slot = slots_.front();
    changed_.wait(lock, [&slot] { return slot->done; });
    slots_.pop_front();
    changed_.notify_all();
    return std::move(slot->piece);
}

} // namespace bubblescope::chrome
