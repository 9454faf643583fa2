#pragma once

#include "core/base/job.h"
#include "core/base/parallel.h"
#include "core/base/result.h"
#include "core/formats/source/packing.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// Decompresses a stream piece by piece.
class Unpacker {
public:
    enum class Outcome { More, NeedsInput, Damaged, TooWide };

    Unpacker() = default;
    Unpacker(const Unpacker&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;
    virtual ~Unpacker() = default;

    /// Decompresses packed[at..) into the free memory of `out`, for at most a few milliseconds.
    virtual Outcome step(std::string_view packed, std::size_t& at, ByteBuffer& out) = 0;
    /// True if the data could end at the current position.
    [[nodiscard]] virtual bool atBorder() const = 0;
};

[[nodiscard]] std::unique_ptr<Unpacker> makeUnpacker(Packing packing);

/// Unpacks a file from start to end. Members (gzip) or frames (zstd) are unpacked in parallel if there are several
/// cores, otherwise a few megabytes at a time. Not thread-safe.
///
/// The start of a member is guessed from its first bytes. An unpacked piece is used only if it ends exactly at the
/// start of the next one. The remaining data is unpacked in order, from a position at which a member is known to end.
class Unpacking {
public:
    enum class State { More, Ended, Failed };

    /// Unpacking more than `limit` bytes is an error.
    Unpacking(std::string_view packed, Packing packing, std::size_t limit, const JobControl& control);

    /// Uses only the calling thread. Call this function before the first next().
    void inOrder() { side_by_side_ = false; }
    /// Appends the next bytes. A fault in the data is reported in `out` and ends the text.
    [[nodiscard]] State next(Unpacked& out);
    /// The current offset in the compressed bytes.
    [[nodiscard]] std::size_t at() const { return at_; }
    /// The reason for a failure: Input if the text is too long or the window is too large; Cancelled.
    [[nodiscard]] Error failure(const std::string& where) const;

private:
    enum class Reason { Cancelled, TooLong, TooWide };
    struct Piece {
        Unpacked unpacked;
        bool whole = false;
    };

    State failed(Reason reason);
    [[nodiscard]] std::optional<State> nextPiece(Unpacked& out);
    [[nodiscard]] State nextStep(Unpacked& out);
    [[nodiscard]] std::size_t endOfPiece(std::size_t begin) const;
    [[nodiscard]] Piece piece(std::size_t begin, std::size_t end) const;

    std::string_view packed_;
    Packing packing_;
    std::size_t limit_;
    const JobControl& control_;
    std::size_t at_ = 0;
    Reason reason_ = Reason::Cancelled;
    std::unique_ptr<Unpacker> unpacker_; ///< used for data that is unpacked in order
    bool border_ = false;                ///< true if a member ended at `at_`
    bool side_by_side_ = true;
    std::size_t next_piece_ = 0; ///< start of the piece that follows the pending ones
    std::deque<std::size_t> ends_;
    OrderedTasks<Piece> pieces_; ///< last member, because the tasks use the members above
};

} // namespace bubblescope
