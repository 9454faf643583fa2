#include "core/formats/chrome/batch_pipeline.h"

#include <algorithm>
#include <thread>

namespace bubblescope::chrome {
namespace {

/// How far after a piece's minimum size a border is searched for; also bounds the time without checking whether to
/// stop.
constexpr std::size_t kSearchBytes = std::size_t{16} << 20;
constexpr std::size_t kAheadPerCore = 3;

} // namespace

BatchPipeline::BatchPipeline(std::string_view text, std::size_t begin, std::size_t piece_bytes)
    : text_(text), piece_bytes_(piece_bytes), borders_(text), next_begin_(begin) {
    if (text.size() - begin < 2 * piece_bytes_) return;
    max_ahead_ = kAheadPerCore * std::max(1U, std::thread::hardware_concurrency());
    fill();
}

std::optional<std::size_t> BatchPipeline::borderAfter(std::size_t offset, std::size_t within) {
    return borders_.after(offset, within);
}

void BatchPipeline::fill() {
    while (next_begin_ >= no_border_before_ && begins_.size() < max_ahead_) {
        const std::size_t least = std::min(next_begin_ + piece_bytes_, text_.size());
        const auto border = borders_.after(least, kSearchBytes);
        if (!border) {
            no_border_before_ = text_.size() - least > kSearchBytes ? least + kSearchBytes : text_.size();
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
