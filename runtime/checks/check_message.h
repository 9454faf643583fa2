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
        Question,   ///< to execute `layer` twice
        Answer,     ///< `once` and `twice` are the results
        Offer,      ///< `layer`, to be executed in idle time
        Result,     ///< the result of an offer: `once`
        Done,       ///< an offer is declined, or a verdict has been written
        Verdict,    ///< `record` is a verdict on the receiver
        Unreadable, ///< a message of the receiver could not be read and gets no reply
        Idle,       ///< to the root: the sender has run all steps and waits for no reply
        AllIdle,    ///< from the root: all ranks are idle
    };

    Kind kind = Kind::Done;
    std::uint64_t ticket = 0; ///< assigned by the rank that asked, offered, or sent the verdict
    ShippedLayer layer;       ///< with the digests of the first execution, without values
    LayerResult once;
    LayerResult twice;
    CheckRecord record;
};

/// Serialises a message with a checksum. Error: Run, if the layer cannot leave its process, or the bytes exceed
/// kLargestMail.
[[nodiscard]] Result<std::string> packMessage(const CheckMessage& mail);
/// Error: Input, if the checksum is wrong or the bytes are not a message.
[[nodiscard]] Result<CheckMessage> unpackMessage(std::string_view bytes);
/// The ticket of an offer, without the cost of unpacking it; nothing for other messages.
[[nodiscard]] std::optional<std::uint64_t> offeredTicket(std::string_view bytes);

} // namespace bubblescope::runtime
