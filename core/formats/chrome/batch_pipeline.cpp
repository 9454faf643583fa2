#include "core/formats/chrome/batch_pipeline.h"

#include <algorithm>
#include <thread>

namespace bubblescope::chrome {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
/// How far after a piece's minimum size a border is searched for; also bounds the time without checking whether to
/// stop.
constexpr std::size_t kSearchBytes = std::size_t{16} << 20;
constexpr std::size_t kAheadPerCore = 3;

constexpr std::string_view kSpace = " \t\r\n";

std::size_t skipSpace(std::string_view text, std::size_t at) {
    const std::size_t found = text.find_first_not_of(kSpace, at);
    return found == std::string_view::npos ? text.size() : found;
}

/// `{ "key"` at an offset: the key with its quotes; empty if something else is there.
std::string_view keyAt(std::string_view text, std::size_t at) {
    if (at >= text.size() || text[at] != '{') return {};
    const std::size_t begin = skipSpace(text, at + 1);
    if (begin >= text.size() || text[begin] != '"') return {};
    const std::size_t end = text.find('"', begin + 1);
    return end == std::string_view::npos ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

} // namespace

BatchPipeline::BatchPipeline(std::string_view text, std::size_t begin)
    : text_(text), first_key_(keyAt(text, begin)), max_ahead_(0), next_begin_(begin) {
    if (first_key_.empty() || text.size() - begin < 2 * kPieceBytes) return;
    max_ahead_ = kAheadPerCore * std::max(1U, std::thread::hardware_concurrency());
    fill();
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

void BatchPipeline::fill() {
    while (!exhausted_ && begins_.size() < max_ahead_) {
        const auto border = borderAfter(next_begin_ + kPieceBytes, kSearchBytes);
        if (!border) {
            exhausted_ = true;
            return;
        }
        pieces_.add([this, begin = next_begin_, end = *border] { return parsed(begin, end); });
        begins_.push_back(next_begin_);
        next_begin_ = *border;
    }
}

std::unique_ptr<BatchPipeline::Piece> BatchPipeline::parsed(std::size_t begin, std::size_t end) {
    std::unique_ptr<EventParser> parser;
    {
        const std::lock_guard lock(parsers_mutex_);
        if (!parsers_.empty()) {
            parser = std::move(parsers_.back());
            parsers_.pop_back();
        }
    }
    if (!parser) parser = std::make_unique<EventParser>();
    auto piece = std::make_unique<Piece>();
    piece->begin = begin;
    // Back before the comma, so that the text holds events only.
    piece->end = text_.find_last_of('}', end - 1) + 1;
    const std::string_view events = text_.substr(piece->begin, piece->end - piece->begin);
    if (!parser->parse(events, piece->begin, piece->batch)) piece.reset();
    const std::lock_guard lock(parsers_mutex_);
    parsers_.push_back(std::move(parser));
    return piece;
}

std::unique_ptr<BatchPipeline::Piece> BatchPipeline::take(std::size_t offset) {
    if (max_ahead_ == 0) return nullptr;
    while (!begins_.empty() && begins_.front() < offset) {
        begins_.pop_front();
        pieces_.drop();
    }
    if (begins_.empty() && next_begin_ < offset) next_begin_ = offset; // an event certainly begins there
    fill();
    if (begins_.empty() || begins_.front() != offset) return nullptr;
    begins_.pop_front();
    std::unique_ptr<Piece> piece = pieces_.take();
    fill();
    return piece;
}

} // namespace bubblescope::chrome
