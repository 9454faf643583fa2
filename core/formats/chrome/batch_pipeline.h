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

/// Parses a large array of events on all cores, ahead of a reader that processes the array in order.
///
/// The end of an event is known only after reading everything before it. The text is therefore cut at likely event
/// boundaries. A piece is used only if the reader arrives exactly at its start and the piece was parsed as complete
/// events, which implies that it ends at a boundary. After a wrong guess, the reader parses the text itself until it
/// reaches the start of a later piece. The result is the same as without this class, except that a corrupt event that
/// contains a bracket of the wrong kind may be accepted.
///
/// Short text is cut in the same way. Each piece is then parsed when it is requested, by the requesting thread,
/// because waking other threads would take longer. Small pieces and their events stay in the cache.
class BatchPipeline {
public:
    static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
    /// The best piece size for `text` bytes of text.
    [[nodiscard]] static std::size_t pieceBytes(std::size_t text);

    enum class Threads { All, ThisOne };
    /// Complete text with fewer bytes is parsed fastest by one thread, in pieces.
    static constexpr std::size_t kForOneThread = std::size_t{4} << 20;
    static constexpr std::size_t kPieceOfOneThread = std::size_t{64} << 10;

    /// `text` is the file, or its beginning if not `complete`; `begin` is the offset of the first event. Pieces have at
    /// least `piece_bytes`; near the end of the text, each takes half of what remains. Text shorter than two pieces is
    /// not parsed ahead. Text for one thread must be complete. If the text also `stays` in memory (unlike
    /// a mapped file that another program may write to), its pieces are not copied.
    BatchPipeline(std::string_view text, std::size_t begin, std::size_t piece_bytes = kPieceBytes, bool complete = true,
                  Threads threads = Threads::All, bool stays = false);

    /// Call this function when the text has grown. The text must still start at the same address.
    void extend(std::string_view text, bool complete);
    /// Number of bytes to parse ahead of the reader to keep all cores busy.
    static constexpr std::size_t kUseful = 8 * kPieceBytes;

    struct Piece {
        std::size_t begin = 0;
        std::size_t end = 0; ///< offset after the last event
        EventBatch batch;    ///< includes the previous piece's strings if both use the same object
    };
    /// The piece that starts at `offset`; waits if the piece is still being parsed. Null if there is no usable piece.
    /// Valid until the next call. Drops pieces that start before `offset`.
    [[nodiscard]] const Piece* take(std::size_t offset);

    /// The next offset after `offset` that looks like the start of an event, regardless of the preceding text. After a
    /// corrupt event, reading can continue there. `within` bounds the search.
    [[nodiscard]] std::optional<std::size_t> borderAfter(std::size_t offset, std::size_t within);

private:
    [[nodiscard]] const Piece* parsedHere(std::size_t begin);
    void fill();
    [[nodiscard]] std::unique_ptr<Piece> parsed(std::string_view text, std::size_t begin, std::size_t end);

    std::string_view text_;
    std::size_t piece_bytes_;
    EventBorders borders_;
    std::size_t max_ahead_ = 0; ///< maximum number of pieces parsed ahead; 0 for none
    std::size_t next_begin_;    ///< start of the piece that follows those parsed ahead
    std::size_t no_border_before_ =
        0; ///< once the end of the array has been found, nothing before this offset is parsed ahead
    bool complete_;
    std::size_t searched_ = 0; ///< for an incomplete text: end of the range in which no boundary was found

    std::mutex parsers_mutex_;
    std::vector<std::unique_ptr<EventParser>> parsers_; ///< those not in use

    // Used for single-threaded parsing:
    Threads threads_;
    bool stays_;
    EventParser parser_;
    Piece piece_;                       ///< reused for each piece
    std::size_t unreadable_before_ = 0; ///< end of the last piece that could not be parsed

    std::unique_ptr<Piece> taken_;
    std::deque<std::size_t> begins_; ///< start offsets of the pieces parsed ahead, in order
    OrderedTasks<std::unique_ptr<Piece>>
        pieces_; ///< null for pieces that could not be parsed; last member, because tasks use the members above
};

} // namespace bubblescope::chrome
