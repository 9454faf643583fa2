#pragma once

#include "core/live/record_stream.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::live {

/// Destination of the bytes of a run's files: the analyzer that follows it, or a collector on another machine. A stream
/// is one file, from its beginning.
class StreamTarget {
public:
    using Stream = std::size_t;

    virtual ~StreamTarget() = default;
    /// `name` is unique among a machine's streams.
    [[nodiscard]] virtual Stream open(const std::string& name) = 0;
    /// `now` is on a monotonic clock, the same in all calls.
    virtual void feed(Stream stream, std::string_view bytes, TimeNs now) = 0;
    /// Bytes at the stream's end that are not a complete packet yet.
    [[nodiscard]] virtual std::size_t pending(Stream stream) const = 0;
    /// The writer truncated the pending bytes.
    virtual void dropPending(Stream stream) = 0;
    /// The stream is replaced by another of the same name, whose beginning comes next: a rank that returned, or another
    /// run. The following steps show which.
    virtual void restart(Stream stream) = 0;
    /// Nothing more will come of this stream, since its file continued in the next or was removed. Releases `stream`,
    /// which may be reused.
    virtual void close(Stream stream) = 0;
    /// The process that wrote the stream has exited. `why` is for people.
    virtual void gone(Stream stream, const std::string& why) = 0;
    /// The process that writes it, once known.
    [[nodiscard]] virtual std::optional<RunStatement> statementOf(Stream stream) const = 0;

    /// How many bytes can be accepted now.
    [[nodiscard]] virtual std::size_t room(Stream) const { return std::numeric_limits<std::size_t>::max(); }
    /// Where to continue reading, if not where it stopped.
    [[nodiscard]] virtual std::optional<std::int64_t> takeRewind(Stream) { return std::nullopt; }
    /// Whether everything fed has arrived.
    [[nodiscard]] virtual bool isThrough(Stream) const { return true; }
};

} // namespace bubblescope::live
