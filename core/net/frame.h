#pragma once

#include "core/base/result.h"
#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::net {

/// One message between who has a run's files and who watches. On the wire: the length of what follows in 4 bytes, the
/// kind in 1, the stream's number in 4, its offset in 8, three times in 8 each, and the text, little end first.
struct Frame {
    enum class Kind : std::uint8_t {
        Hello,   ///< sender: `text` is the token, and behind a line end the sender's name
        Welcome, ///< receiver: the token was right
        Refused, ///< receiver: `text` has the reason; it then closes
        Open,    ///< sender: a stream named `text`; `times[0]` differs from that of an earlier one of the same name
        Resume,  ///< receiver: go on at `offset`
        Data,    ///< sender: `text` stands at `offset`; whole packets only
        Ack,     ///< receiver: has all before `offset`
        Gone,    ///< sender: the process that wrote the stream has ended; `text` describes it
        Finish,  ///< sender: nothing will come of the stream behind `offset`
        Ping,    ///< sender: at `times[0]`
        Pong,    ///< receiver: the ping's time, when it came and when this was sent
    };
    static constexpr Kind kLast = Kind::Pong;

    Kind kind = Kind::Hello;
    std::uint32_t stream = 0;
    std::uint64_t offset = 0;
    std::array<TimeNs, 3> times{};
    std::string text;
};

/// As it travels.
[[nodiscard]] std::string encode(const Frame& frame);

/// Takes a connection's bytes in any pieces and gives its messages. One thread at a time.
class FrameReader {
public:
    /// The most that a text may have; a connection that announces more is broken.
    static constexpr std::size_t kLongestText = std::size_t{1} << 20;

    void feed(std::string_view bytes) { pending_.append(bytes); }
    /// Nothing where more bytes are needed. Error: Input, where what came is no message; nothing more can be read then.
    [[nodiscard]] Result<std::optional<Frame>> next();

private:
    std::string pending_;
    std::size_t taken_ = 0; ///< bytes of pending_ that were given already
};

/// Whether two texts are equal, in a time that does not depend on where they differ.
[[nodiscard]] bool equalSecrets(std::string_view a, std::string_view b);

} // namespace bubblescope::net
