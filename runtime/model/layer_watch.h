#pragma once

#include "core/base/wire.h"
#include "runtime/model/live_tensor.h"

#include <cstdint>
#include <memory>

namespace bubblescope::runtime {

/// What is computed of a layer at a time.
enum class LayerPart : std::uint8_t { Forward, InputGradient, WeightGradient };

/// Layers count over the whole model: 0 is the embedding, then come the blocks, the last is the head with the loss.
struct LayerCall {
    LayerPart part = LayerPart::Forward;
    int layer = 0;
};

/// Layers of a stage: from `first` on.
struct LayerRange {
    int first = 0;
    int count = 0;

    [[nodiscard]] bool holds(int layer) const { return first <= layer && layer < first + count; }
};

/// Is shown every tensor that a layer computes, when it has just been and before it is used.
class LayerProbe {
public:
    virtual ~LayerProbe() = default;
    virtual void touch(CheckedTensor tensor, LiveTensor& values) = 0;
    /// On the host.
    void touch(CheckedTensor tensor, float* values, std::int64_t count) {
        HostTensor live(values, count);
        touch(tensor, live);
    }
};

/// A part of a layer with all that it takes to compute it again, as often as one likes and without a trace: by the same
/// code on the same inputs, shown to a probe as the first time.
class LayerReplay {
public:
    LayerReplay() = default;
    LayerReplay(const LayerReplay&) = delete;
    LayerReplay& operator=(const LayerReplay&) = delete;
    virtual ~LayerReplay() = default;

    virtual void run(LayerProbe& probe) const = 0;
    /// Held by it: weights of the stage aside, those taken along included.
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
    /// Takes the weights along: from now on it may be run by several threads, and after the weights have changed. A
    /// second call does nothing.
    virtual void detach() = 0;
    /// With the weights, for another process. False where it cannot leave this one, as on a device.
    [[nodiscard]] virtual bool pack(WireWriter& /*wire*/) const { return false; }
};

/// Looks on while a stage's ops run. Used by the rank's thread.
class LayerWatch : public LayerProbe {
public:
    /// A part of a layer is computed; touch() follows for each tensor. True if it is to be kept for a replay.
    [[nodiscard]] virtual bool begin(const LayerCall& call) = 0;
    /// It has been; `kept` is null unless it was asked for.
    virtual void end(std::unique_ptr<LayerReplay> kept) = 0;
};

} // namespace bubblescope::runtime
