#pragma once

#include "core/base/result.h"
#include "core/timeline/check_record.h"
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
        Answer,     ///< the results: `once` and `twice`
        Offer,      ///< `layer`, to be executed where there is idle time
        Result,     ///< of an offer: `once`
        Done,       ///< an offer is declined; or a verdict has been written
        Verdict,    ///< on the receiver: `record`
        Unreadable, ///< a message of the receiver could not be read, and gets no reply
        Idle,       ///< to the root: the sender has run all steps and waits for no reply
        AllIdle,    ///< from the root: so have all ranks
    };

    Kind kind = Kind::Done;
    std::uint64_t ticket = 0; ///< the asker's or offerer's, or the verdict's sender's
    ShippedLayer layer;       ///< with the digests of its first execution, without values
    LayerResult once;
    LayerResult twice;
    CheckRecord record;
};

/// Serialised with a checksum. Error: Run, where the layer cannot leave its process, or the bytes exceed kLargestMail.
[[nodiscard]] Result<std::string> packMessage(const CheckMessage& mail);
/// Error: Input, where the checksum is wrong, or the bytes are not what packMessage() makes.
[[nodiscard]] Result<CheckMessage> unpackMessage(std::string_view bytes);
/// The ticket of an offer, without unpacking it, which takes long; nothing of other messages.
[[nodiscard]] std::optional<std::uint64_t> offeredTicket(std::string_view bytes);

} // namespace bubblescope::runtime
