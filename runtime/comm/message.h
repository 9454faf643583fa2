#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"
#include "runtime/model/tensor.h"

#include <cstdint>
#include <memory>
#include <optional>

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

/// What the sender says of a message where a run checks itself.
struct MessageDigests {
    std::uint64_t content = 0; ///< of the tensor, when it had been computed
    std::uint64_t weights = 0; ///< with gradients: of the weights that all copies of the stage must have
};

struct Message {
    Tensor tensor;
    TimeNs sent{0}; ///< the producing op's end on its device clock
    std::optional<MessageDigests> digests{};
    /// Who knows the content's where a device has yet to tell it; within a process.
    std::shared_ptr<const LateTensor> late{};
};

/// A message as its receiver finds it.
struct Taken {
    Message message;
    bool waited = false; ///< it was not there yet when it was asked for
};

/// A message that a rank is going to take.
struct Expected {
    Rank from;
    MessageKey key;
};

} // namespace bubblescope::runtime
