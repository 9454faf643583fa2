#pragma once

#include "core/base/wire.h"
#include "runtime/model/live_tensor.h"

#include <cstdint>
#include <memory>

namespace bubblescope::runtime {

/// The part of a layer that is computed in one call.
enum class LayerPart : std::uint8_t { Forward, InputGradient, WeightGradient };

/// Identifies a call. Layers are numbered across the complete model: 0 is the embedding, the blocks follow, and the
/// last one is the head with the loss.
struct LayerCall {
    LayerPart part = LayerPart::Forward;
    int layer = 0;
};

/// The layers of a stage, starting at `first`.
struct LayerRange {
    int first = 0;
    int count = 0;

    [[nodiscard]] bool holds(int layer) const { return first <= layer && layer < first + count; }
};

/// Receives every tensor that a layer computes, after its computation and before its use.
class LayerProbe {
public:
    virtual ~LayerProbe() = default;
    virtual void touch(CheckedTensor tensor, LiveTensor& values) = 0;
    /// True if touch() may change the current part's values, which must then be complete before others are computed.
    [[nodiscard]] virtual bool changes() const { return true; }
    /// For a tensor on the host.
    void touch(CheckedTensor tensor, float* values, std::int64_t count) {
        HostTensor live(values, count);
        touch(tensor, live);
    }
};

/// A part of a layer with all inputs needed to compute it again. Each repetition runs the same code on the same inputs,
/// makes the same probe calls, and has no side effects.
class ReexecutableLayer {
public:
    ReexecutableLayer() = default;
    ReexecutableLayer(const ReexecutableLayer&) = delete;
    ReexecutableLayer& operator=(const ReexecutableLayer&) = delete;
    virtual ~ReexecutableLayer() = default;

    virtual void run(LayerProbe& probe) const = 0;
    /// Memory used by this object, excluding the stage's weights unless it has copied them.
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
    /// Copies the weights. From then on, several threads may call run(), even after the stage's weights have changed. A
    /// second call has no effect.
    virtual void detach() = 0;
    /// Serialises the part of the layer, with its weights, for another process. Returns false if the part cannot leave
    /// this process, for example because it is on a device.
    [[nodiscard]] virtual bool pack(WireWriter& /*wire*/) const { return false; }
};

/// Observes the ops of a stage. Used by the rank's thread.
class LayerWatch : public LayerProbe {
public:
    /// Called before a part of a layer is computed; touch() follows for each tensor. Returns true if the part must be
    /// captured.
    [[nodiscard]] virtual bool begin(const LayerCall& call) = 0;
    /// True if the tensors of the part that has begun must be passed to touch().
    [[nodiscard]] virtual bool watches() const { return true; }
    /// True if another gradient of this layer's weights will be captured later in the current step.
    [[nodiscard]] virtual bool keepsWeightGradient(int /*layer*/) const { return false; }
    /// Called after the part has been computed; `kept` is null unless it was requested.
    virtual void end(std::unique_ptr<ReexecutableLayer> kept) = 0;
};

} // namespace bubblescope::runtime
