#pragma once

#include "core/formats/chrome/event_parser.h"
#include "core/parallel/parallel.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// Parses a large array of events on all cores, ahead of a reader that goes through it in order.
///
/// Where an event ends is only known to who has read everything before it. So the text is cut at places that look like
/// the border between two events, and a piece counts only if the reader arrives exactly where it begins and it parsed
/// as whole events: then that it ends at a border follows. Where a guess was wrong, the reader goes on by itself until
/// it meets the beginning of a later piece. The result is the same as without this class.
class BatchPipeline {
public:
    /// `text` is the file, `begin` the offset of its first event. Parses nothing ahead if the text is small.
    BatchPipeline(std::string_view text, std::size_t begin);

    struct Piece {
        std::size_t begin = 0;
        std::size_t end = 0; ///< offset behind its last event
        EventBatch batch;
    };
    /// The piece that begins at `offset`, waiting for it if it is still being parsed; nothing if there is none that
    /// counts. Pieces that begin before `offset` are dropped.
    [[nodiscard]] std::unique_ptr<Piece> take(std::size_t offset);

    /// The next place behind `offset` that looks like the beginning of an event: "} , {" and the usual first key.
    /// Where an event is damaged, reading may go on there. `within` bounds how far is looked.
    [[nodiscard]] std::optional<std::size_t> borderAfter(std::size_t offset, std::size_t within) const;

private:
    void fill();
    [[nodiscard]] std::unique_ptr<Piece> parsed(std::size_t begin, std::size_t end);

    std::string_view text_;
    std::string_view first_key_; ///< of the first event, with its quotes: most writers begin each event with the same
    std::size_t max_ahead_;      ///< pieces; 0 if none are parsed ahead
    std::size_t next_begin_;     ///< of the piece behind those ahead
    bool exhausted_ = false;     ///< what is left is for the reader, who knows where the array ends

    std::mutex parsers_mutex_;
    std::vector<std::unique_ptr<EventParser>> parsers_; ///< not in use now

    std::deque<std::size_t> begins_; ///< of the pieces ahead, in order
    OrderedTasks<std::unique_ptr<Piece>>
        pieces_; ///< those that do not parse are null; last: they use what stands above
};

} // namespace bubblescope::chrome
