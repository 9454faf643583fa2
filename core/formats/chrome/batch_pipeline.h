#pragma once

#include "core/base/parallel.h"
#include "core/formats/chrome/event_borders.h"
#include "core/formats/chrome/event_parser.h"

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
/// Where an event ends is known only after reading everything before it. So the text is cut at places that look like
/// the border between two events, and a piece is used only if the reader arrives exactly where it begins and it was
/// parsed as complete events: it follows that it ends at a border. Where a guess was wrong, the reader continues on its
/// own until it reaches the beginning of a later piece. The result is the same as without this class, save that a
/// damaged event, with a bracket of the wrong kind in it, may be read.
///
/// Small texts are cut likewise, but each piece is parsed when it is taken, by the thread that takes it: waking others
/// takes longer than that. Pieces are then so small that they, and the events in them, stay in the cache.
class BatchPipeline {
public:
    static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
    /// What pieces of a text of so many bytes should have.
    [[nodiscard]] static std::size_t pieceBytes(std::size_t text);

    enum class Threads { All, ThisOne };
    /// Complete texts of fewer bytes are best parsed by one thread, in pieces of so many.
    static constexpr std::size_t kForOneThread = std::size_t{4} << 20;
    static constexpr std::size_t kPieceOfOneThread = std::size_t{64} << 10;

    /// `text` is the file, or if that is not `complete` its beginning, `begin` the offset of its first event. Pieces
    /// have at least `piece_bytes`, but towards the end half of what is left; of texts with less than two nothing is
    /// parsed ahead. A text for one thread must be complete; if it also `stays`, as that of a mapped file need not
    /// where another program writes to it, its pieces are not copied.
    BatchPipeline(std::string_view text, std::size_t begin, std::size_t piece_bytes = kPieceBytes, bool complete = true,
                  Threads threads = Threads::All, bool stays = false);

    /// More of the text came, at the same place.
    void extend(std::string_view text, bool complete);
    /// How much of the text after the reader's place lets all cores work.
    static constexpr std::size_t kUseful = 8 * kPieceBytes;

    struct Piece {
        std::size_t begin = 0;
        std::size_t end = 0; ///< offset after its last event
        EventBatch batch;    ///< its texts include those of the piece before, if that is the same object
    };
    /// The piece that begins at `offset`, after waiting for it if it is still being parsed; null if there is no usable
    /// one. It stays until the next call. Pieces that begin before `offset` are dropped.
    [[nodiscard]] const Piece* take(std::size_t offset);

    /// The next offset after `offset` that looks like the beginning of an event, whatever precedes it. Reading may
    /// continue there after a damaged event. `within` bounds the search.
    [[nodiscard]] std::optional<std::size_t> borderAfter(std::size_t offset, std::size_t within);

private:
    [[nodiscard]] const Piece* parsedHere(std::size_t begin);
    void fill();
    [[nodiscard]] std::unique_ptr<Piece> parsed(std::string_view text, std::size_t begin, std::size_t end);

    std::string_view text_;
    std::size_t piece_bytes_;
    EventBorders borders_;
    std::size_t max_ahead_ = 0;        ///< pieces; 0 if none are parsed ahead
    std::size_t next_begin_;           ///< of the piece after those ahead
    std::size_t no_border_before_ = 0; ///< the reader, who knows where the array ends, gets there on its own
    bool complete_;
    std::size_t searched_ = 0; ///< of an incomplete text, up to here no border was found

    std::mutex parsers_mutex_;
    std::vector<std::unique_ptr<EventParser>> parsers_; ///< not in use now

    // For one thread alone.
    Threads threads_;
    bool stays_;
    EventParser parser_;
    Piece piece_;                       ///< filled again and again
    std::size_t unreadable_before_ = 0; ///< end of the last piece that could not be parsed

    std::unique_ptr<Piece> taken_;
    std::deque<std::size_t> begins_; ///< of the pieces ahead, in order
    OrderedTasks<std::unique_ptr<Piece>>
        pieces_; ///< those that do not parse are null; last, since they use the members above
};

} // namespace bubblescope::chrome
