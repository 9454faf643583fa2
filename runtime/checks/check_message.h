#pragma once

#include "core/base/result.h"
#include "core/timeline/checks.h"
#include "runtime/checks/check_broker.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::runtime {

/// A message between the check brokers of two processes.
struct CheckMessage {
    enum class Kind : std::uint8_t {
        Question,   ///< asks the receiver to execute `layer` twice
        Answer,     ///< `once` and `twice` are the results
        Offer,      ///< offers `layer` for execution in idle time
        Result,     ///< the result of an offer: `once`
        Done,       ///< an offer was declined, or a verdict was written
        Verdict,    ///< `record` is a verdict on the receiver
        Unreadable, ///< a message from the receiver could not be read and gets no reply
        Idle,       ///< to the root: the sender has finished all steps and is not waiting for a reply
        AllIdle,    ///< from the root: all ranks are idle
    };

    Kind kind = Kind::Done;
    std::uint64_t ticket = 0; ///< assigned by the rank that asked, offered, or sent the verdict
    ShippedLayer layer;       ///< contains the digests of the first execution, but not its values
    LayerResult once;
    LayerResult twice;
    CheckRecord record;
};

/// Serialises a message with a checksum. Error: Run, if the layer cannot leave its process or the message exceeds
/// kLargestMail.
[[nodiscard]] Result<std::string> packMessage(const CheckMessage& mail);
/// Error: Input, if the checksum is wrong or the bytes are not a message.
[[nodiscard]] Result<CheckMessage> unpackMessage(std::string_view bytes);
/// The ticket of an offer, read without unpacking the offer; nothing for other messages.
[[nodiscard]] std::optional<std::uint64_t> offeredTicket(std::string_view bytes);

} // namespace bubblescope::runtime
