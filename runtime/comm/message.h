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
    Gradient,    ///< for the stage's output
    GradientSum, ///< for the parameters, from another copy of the stage; names no micro-batch
    Part,        ///< of a sum inside an op; names neither stage nor micro-batch, `sequence` tells a sum from the next
};

/// What a message is for; unique among the messages from one rank to another within a step.
struct MessageKey {
    Content content = Content::Activation;
    Stage producer;
    Stage consumer;
    Microbatch microbatch;
    std::int32_t sequence = 0;

    friend constexpr auto operator<=>(const MessageKey&, const MessageKey&) = default;
};

/// A rank sends its part of the next sum when it has all of this one, and no sooner: one may be ahead of another by
/// one.
inline constexpr std::int32_t kPartsUnderWay = 2;

/// Digests that the sender computes where a run checks itself.
struct MessageDigests {
    std::uint64_t content = 0; ///< of the tensor, when it had been computed
    std::uint64_t weights = 0; ///< with gradients: of the weights that all copies of the stage must have
};

struct Message {
    Tensor tensor;
    TimeNs sent{0}; ///< the producing op's end on its device clock
    std::optional<MessageDigests> digests{};
    /// Source of the content's digest where a device has not computed it yet; within a process.
    std::shared_ptr<const LateTensor> late{};
};

/// A message as its receiver gets it.
struct Taken {
    Message message;
    bool waited = false; ///< it was not there yet when it was asked for
};

/// A message that a rank is going to take.
struct Expected {
    Rank from;
    MessageKey key;
};

/// Bytes from one rank to another, apart from what a pipeline sends: no rank waits for them within a step, and they are
/// never mistaken for a tensor. Those of one sender arrive in order.
struct Mail {
    Rank peer; ///< of what is posted the receiver, of what is taken the sender
    std::string bytes;
    std::array<TimeNs, 2> times{}; ///< translated between clocks, as all times of a transport
};

/// In bytes; senders must keep to it.
inline constexpr std::size_t kLargestMail = std::size_t{256} << 20U;

} // namespace bubblescope::runtime
