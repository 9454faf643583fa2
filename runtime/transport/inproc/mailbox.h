#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"
#include "runtime/model/tensor.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace bubblescope::runtime {

enum class Content : std::uint8_t {
    Activation,
    Gradient,    ///< for the stage's output
    GradientSum, ///< for the parameters, from another copy of the stage; names no micro-batch
};

/// What a message is for; unique within a step.
struct MessageKey {
    Content content = Content::Activation;
    Stage producer;
    Stage consumer;
    Microbatch microbatch;
    std::int32_t sequence = 0;

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
