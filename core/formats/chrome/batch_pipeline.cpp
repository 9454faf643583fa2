#include "core/formats/chrome/batch_pipeline.h"

#include "core/base/core_count.h"

#include <algorithm>

namespace bubblescope::chrome {
namespace {

/// The distance to search for a border beyond a piece's minimum size; also bounds the time between checks for a stop.
constexpr std::size_t kSearchBytes = std::size_t{16} << 20;
constexpr std::size_t kAheadPerCore = 3;
/// Smaller pieces take more time than reading their events one by one.
constexpr std::size_t kLeastPiece = std::size_t{4} << 10;

} // namespace

std::size_t BatchPipeline::pieceBytes(std::size_t text) {
    return std::clamp(text / 8, 8 * kLeastPiece, kPieceBytes);
}

BatchPipeline::BatchPipeline(std::string_view text, std::size_t begin, std::size_t piece_bytes, bool complete,
                             Threads threads, bool stays)
    : text_(text), piece_bytes_(piece_bytes), borders_(text, complete), next_begin_(begin), complete_(complete),
      threads_(threads), stays_(stays) {
    if (threads_ == Threads::ThisOne || text.size() - begin < 2 * piece_bytes_) return;
    max_ahead_ = kAheadPerCore * coreCount();
    fill();
}

void BatchPipeline::extend(std::string_view text, bool complete) {
    text_ = text;
    complete_ = complete;
    borders_.extend(text, complete);
    if (max_ahead_ > 0) fill();
}

std::optional<std::size_t> BatchPipeline::borderAfter(std::size_t offset, std::size_t within) {
    return borders_.afterDamage(offset, within);
}

void BatchPipeline::fill() {
    while (next_begin_ >= no_border_before_ && begins_.size() < max_ahead_) {
        const std::size_t left = text_.size() - std::min(next_begin_, text_.size());
        const bool is_end = complete_ && left < 2 * piece_bytes_ && left >= 2 * kLeastPiece;
        const std::size_t least = std::min(next_begin_ + (is_end ? left / 2 : piece_bytes_), text_.size());
        if (!complete_ && borders_.known() <= std::max(least, searched_)) return; // more text will come
        const auto border = borders_.after(least, kSearchBytes);
        if (!border && !complete_ && borders_.known() < least + kSearchBytes) {
            searched_ = borders_.known();
            return;
        }
        if (!border) {
            no_border_before_ = text_.size() - least > kSearchBytes ? least + kSearchBytes : text_.size();
            return;
        }
        pieces_.add([this, text = text_, begin = next_begin_, end = *border] { return parsed(text, begin, end); });
        begins_.push_back(next_begin_);
        next_begin_ = *border;
    }
}

std::unique_ptr<BatchPipeline::Piece> BatchPipeline::parsed(std::string_view text, std::size_t begin, std::size_t end) {
    // Go back before the comma, so that the text holds only events. If the file was truncated meanwhile, it holds
    // zeros.
    const std::size_t last = text.find_last_of('}', end - 1);
    if (last == std::string_view::npos || last < begin) return nullptr;
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
    piece->end = last + 1;
    const std::string_view events = text.substr(piece->begin, piece->end - piece->begin);
    if (!parser->parse(events, piece->begin, piece->batch)) piece.reset();
    const std::lock_guard lock(parsers_mutex_);
    parsers_.push_back(std::move(parser));
    return piece;
}

const BatchPipeline::Piece* BatchPipeline::parsedHere(std::size_t begin) {
    if (begin < unreadable_before_ || begin >= text_.size()) return nullptr;
    const bool is_last = text_.size() - begin < 2 * piece_bytes_;
    const auto border = is_last ? std::nullopt : borders_.after(begin + piece_bytes_, kSearchBytes);
    const std::size_t behind = border.value_or(text_.size());
    const std::size_t end = border ? text_.find_last_of('}', behind - 1) + 1 : behind;
    // If there is no border up to the end, the text has other content after a small array, or zeros, see parsed().
    if ((!border && !is_last) || end <= begin) {
        unreadable_before_ = behind;
        return nullptr;
    }
    piece_.batch.events.clear();
    piece_.batch.flaws = {};
    piece_.begin = begin;
    const std::string_view events = text_.substr(begin, end - begin);
    if (border) {
        piece_.end = end;
        const bool in_place = stays_ && text_.size() - end >= EventParser::kBehind;
        if (in_place ? parser_.parseInPlace(events, begin, piece_.batch) : parser_.parse(events, begin, piece_.batch))
            return &piece_;
    } else if (const auto size = parser_.parseToEnd(events, begin, piece_.batch)) {
        piece_.end = begin + *size;
        return &piece_;
    }
    unreadable_before_ = end;
    return nullptr;
}

const BatchPipeline::Piece* BatchPipeline::take(std::size_t offset) {
    if (threads_ == Threads::ThisOne) return parsedHere(offset);
    if (max_ahead_ == 0) return nullptr;
    while (!begins_.empty() && begins_.front() < offset) {
        begins_.pop_front();
        pieces_.drop();
    }
    if (begins_.empty() && next_begin_ < offset) next_begin_ = offset; // an event certainly starts there
    fill();
    if (begins_.empty() || begins_.front() != offset) return nullptr;
    begins_.pop_front();
    taken_ = pieces_.take();
    fill();
    return taken_.get();
}

} // namespace bubblescope::chrome
