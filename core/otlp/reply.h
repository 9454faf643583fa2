#pragma once

#include "core/base/time.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::otlp {

enum class Signal : std::uint8_t { Traces, Metrics };

/// A collector's reply over HTTP/1.x.
struct Reply {
    int code = 0;            ///< such as 503; 0 if the other end does not speak HTTP
    std::string status;      ///< such as "503 Service Unavailable"; displayable
    std::string type;        ///< media type in lower case, without parameters; may be empty
    std::string retry_after; ///< a number of seconds or a date; may be empty
    std::string body;        ///< empty if it is damaged or incomplete
};

/// Reads the reply in `bytes`, after any interim replies (1xx). Returns an empty optional if more bytes are needed:
/// always if the header is incomplete, otherwise unless `ended`, which states that no more bytes will follow.
[[nodiscard]] std::optional<Reply> readReply(std::string_view bytes, bool ended);

/// The outcome of a request.
struct Verdict {
    bool taken = false;
    bool again = false; ///< send the request again after a pause; otherwise it must not be sent again
    int code = 0;       ///< of the reply; 0 if there was none
    std::string reason; ///< displayable; if the request was taken, a warning from the collector, or empty
    std::optional<std::chrono::seconds> pause; ///< as requested by the collector; at most a day
};

/// Follows the OTLP specification, 1.x, "OTLP/HTTP Response". Bodies are protobuf, or JSON if their type states it.
/// `now` is the time since 1970-01-01 UTC.
[[nodiscard]] Verdict judge(const Reply& reply, Signal signal, TimeNs now);

} // namespace bubblescope::otlp
