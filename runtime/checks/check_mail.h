#pragma once

#include "core/base/result.h"
#include "core/timeline/check_record.h"
#include "runtime/checks/check_board.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::runtime {

/// What processes write each other about checks.
struct CheckMail {
    enum class Kind : std::uint8_t {
        Ask,        ///< to run `layer` twice
        Answer,     ///< what that came to: `once` and `twice`
        Offer,      ///< `layer`, for a moment to spare
        Found,      ///< what it came to: `once`
        Back,       ///< nothing will come of an offer; or a verdict has been taken down
        Tell,       ///< a verdict on the receiver: `record`
        Unreadable, ///< something of the receiver's could not be read, so nothing will come of it
        Idle,       ///< to the root: the sender's steps are over, and it waits for no reply
        Over,       ///< from the root: that is so for all
    };

    Kind kind = Kind::Back;
    std::uint64_t ticket = 0; ///< of who asked, offered or told
    ShippedLayer layer;       ///< of its first execution the digests travel
    LayerResult once;
    LayerResult twice;
    CheckRecord record;
};

/// Bytes that say by a digest of theirs whether they have come as they were sent. Error: Run, where the layer cannot
/// leave its process or the bytes are more than mail may have.
[[nodiscard]] Result<std::string> packMail(const CheckMail& mail);
/// Error: Input, where the bytes are not what was sent, or not what packMail() makes.
[[nodiscard]] Result<CheckMail> unpackMail(std::string_view bytes);
/// The ticket of bytes that say they are an offer, before they are unpacked, which takes its time; nothing of others.
[[nodiscard]] std::optional<std::uint64_t> offeredTicket(std::string_view bytes);

} // namespace bubblescope::runtime
