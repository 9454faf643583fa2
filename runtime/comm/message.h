#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"
#include "runtime/model/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::runtime {

enum class Content : std::uint8_t {
    Activation,
    Gradient,    ///< gradient of a stage's output
    GradientSum, ///< gradients of the parameters, from another copy of the stage; has no micro-batch
    Part,        ///< part of a sum inside an op; has neither stage nor micro-batch; `sequence` numbers the sums
    // Between ranks of one process to which weights travel (runtime/engine/weight_run.h); `sequence` is the turn.
    ForwardWeights,
    BackwardWeights,
    Turn, ///< no tensor; its time is the start of the turn on the rank that `producer` names
};

/// The purpose of a message; unique among the messages from one rank to another within a step.
struct MessageKey {
    Content content = Content::Activation;
    Stage producer;
    Stage consumer; ///< where two encoders join, the number of the transfer (see transferStages())
    Microbatch microbatch;
    std::int32_t sequence = 0;

    friend constexpr auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

/// Number of sums that may be pending. A rank sends its part of the next sum only after it has received all parts of
/// the current sum, so ranks are at most one sum apart.
inline constexpr std::int32_t kPartsUnderWay = 2;

/// Digests that the sender computes in a run with checks.
struct MessageDigests {
    std::uint64_t content = 0; ///< digest of the tensor, computed before the op ends
    std::uint64_t weights = 0; ///< for gradients: digest of the weights, which must match in all copies of the stage
};

struct Message {
    Tensor tensor;
    TimeNs sent{0}; ///< end of the op that produced the tensor, on its device clock
    std::optional<MessageDigests> digests{};
    /// The source of the content's digest, if a device has not computed it yet. Used only within a process.
    std::shared_ptr<const DeviceSnapshot> late{};
};

/// A received message.
struct Taken {
    Message message;
    bool waited = false; ///< true if the receiver had to wait for the message
};

/// A message that a rank will receive.
struct Expected {
    Rank from;
    MessageKey key;
};

/// Bytes sent from one rank to another outside the pipeline's messages: no rank waits for mail within a step, and mail
/// is never confused with a tensor. Mail from one sender arrives in order.
struct Mail {
    Rank peer; ///< the receiver when posted, the sender when taken
    std::string bytes;
    std::array<TimeNs, 2> times{}; ///< translated between clocks, like all times of a transport
};

/// Maximum size of mail in bytes, which senders must not exceed.
inline constexpr std::size_t kLargestMail = std::size_t{256} << 20U;

} // namespace bubblescope::runtime
