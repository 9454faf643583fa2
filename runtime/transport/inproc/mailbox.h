#pragma once

#include "core/base/time.h"
#include "core/timeline/step_timeline.h"
#include "runtime/model/tensor.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace bubblescope::runtime {

/// What a message is for; unique within a step (see CommSpan).
struct MessageKey {
    Payload payload = Payload::Activation;
    Microbatch microbatch;
    Stage consumer;

    friend constexpr auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

struct Message {
    Tensor tensor;
    TimeNs sent{0}; ///< the producing op's end on its device clock
};

/// What has been sent to one rank and not been used yet. Thread-safe: any thread puts, the rank's takes.
class Mailbox {
public:
    struct Taken {
        Message message;
        bool waited = false; ///< it was not there yet when it was asked for
    };

    /// Never waits. After abort() the message is discarded.
    void put(const MessageKey& key, Message message);

    /// Waits for the message; nothing when the run was aborted.
    [[nodiscard]] std::optional<Taken> take(const MessageKey& key);

    /// Wakes the waiting rank; from now on nothing is taken.
    void abort();

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<MessageKey, Message> messages_;
    bool aborted_ = false;
};

} // namespace bubblescope::runtime
