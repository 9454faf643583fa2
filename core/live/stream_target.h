#pragma once

#include "core/live/record_stream.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::live {

/// Where the bytes of a run's files go: to the analyzer that watches it, or to one on another machine. A stream is one
/// file, from its beginning on.
class StreamTarget {
public:
    using Stream = std::size_t;

    virtual ~StreamTarget() = default;
    /// `name` is unique among a machine's streams.
    [[nodiscard]] virtual Stream open(const std::string& name) = 0;
    /// `now` counts on a clock that does not go back, the same in all calls.
    virtual void feed(Stream stream, std::string_view bytes, TimeNs now) = 0;
    /// Bytes at the stream's end that are no whole packet yet.
    [[nodiscard]] virtual std::size_t pending(Stream stream) const = 0;
    /// They were taken back by its writer.
    virtual void dropPending(Stream stream) = 0;
    /// The stream is replaced by another of the same name, whose beginning comes next: a rank that returned, or another
    /// run. Which of them shows by the steps it brings.
    virtual void restart(Stream stream) = 0;
    /// Nothing will come of this stream any more, since its file went on in the next or was removed. Ends the use of
    /// `stream`, which may be given out again.
    virtual void close(Stream stream) = 0;
    /// The process that wrote the stream has ended. `why` is for people.
    virtual void gone(Stream stream, const std::string& why) = 0;
    /// Whose process writes it, once that was heard.
    [[nodiscard]] virtual std::optional<RunStatement> statementOf(Stream stream) const = 0;

    /// How many bytes can be taken at present.
    [[nodiscard]] virtual std::size_t room(Stream) const { return std::numeric_limits<std::size_t>::max(); }
    /// Where reading is to go on, where that is elsewhere than it left off.
    [[nodiscard]] virtual std::optional<std::int64_t> takeRewind(Stream) { return std::nullopt; }
    /// Whether all that was fed has arrived.
    [[nodiscard]] virtual bool isThrough(Stream) const { return true; }
};

} // namespace bubblescope::live
