#pragma once

#include "core/formats/chrome/event.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::chrome {

/// Parses a large array of events on several threads, ahead of a reader that goes through it in order.
///
/// Where an event ends is only known to who has read everything before it. So the text is cut at places that look like
/// the border between two events, and a piece counts only if the reader arrives exactly where it begins and it parsed
/// as whole events: then that it ends at a border follows. Where a guess was wrong, the reader goes on by itself until
/// it meets the beginning of a later piece. The result is the same as without this class.
class BatchPipeline {
public:
    /// `text` is the file, `begin` the offset of its first event. Starts the threads, unless the text is small.
    BatchPipeline(std::string_view text, std::size_t begin, unsigned threads);
    ~BatchPipeline();
    BatchPipeline(const BatchPipeline&) = delete;
    BatchPipeline& operator=(const BatchPipeline&) = delete;

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
    struct Slot {
        std::size_t begin = 0;
        bool done = false;
        std::unique_ptr<Piece> piece; ///< none once done: it did not parse
    };

    void work(const std::stop_token& stop);

    std::string_view text_;
    std::string_view first_key_; ///< of the first event, with its quotes: most writers begin each event with the same
    std::size_t max_ahead_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::size_t next_begin_;
    bool exhausted_ = false;
    std::deque<std::shared_ptr<Slot>> slots_;
    std::vector<std::jthread> threads_;
};

} // namespace bubblescope::chrome
