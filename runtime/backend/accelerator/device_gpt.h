#pragma once

#include "runtime/backend/accelerator/device_block.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/model_config.h"

#include <cstddef>
#include <cstdint>

namespace bubblescope::runtime {

/// What a piece takes of its sequences.
struct DeviceRows {
    std::int64_t tokens = 0;
    int begin = 0; ///< positions in the sequence
    int length = 0;
};

/// The layers of one stage of the GPT model on a device, see GptStage. What they compute is queued where `layers` say
/// and shown to a probe, which may be null. Layers that the stage has not must not be asked for.
template <class T>
class DeviceGpt {
public:
    using Block = DeviceBlock<T>;
    /// What the head keeps from F on.
    struct Head {
        DeviceNormalised normalised; ///< to W; its deviations to I
        Buffer logits_grad;          ///< to W
        Buffer normalised_grad;      ///< from I to W

        [[nodiscard]] std::int64_t bytes() const {
            return normalised.bytes() + logits_grad.bytes() + normalised_grad.bytes();
        }
    };

    /// References must outlive it.
    DeviceGpt(const ModelConfig& config, const StageTask& task, const DeviceParameters<T>& parameters,
              DeviceLayers<T> layers)
        : config_(config), task_(task), parameters_(parameters), layers_(layers) {}

    [[nodiscard]] const DeviceLayers<T>& layers() const { return layers_; }

    // Layers as a watch counts them (LayerCall).
    [[nodiscard]] LayerRange range() const;
    [[nodiscard]] int blockNumber(std::size_t i) const {
        return 1 + config_.layersBefore(task_.place) + static_cast<int>(i);
    }
    [[nodiscard]] int headNumber() const { return 1 + config_.layersBefore(task_.places); }
    /// Where a layer's weights lie in the stage's column.
    [[nodiscard]] FlatRun weightsOf(int layer) const;

    [[nodiscard]] Buffer embed(const Buffer& tokens, DeviceRows rows, LayerProbe* probe) const;
    void embeddingGradient(const Buffer& tokens, const Buffer& grad, DeviceRows rows,
                           DeviceGradientSum::Target target) const;
    /// The stage's i-th.
    [[nodiscard]] Block block(std::size_t i, LayerProbe* probe) const;
    /// Leaves the piece's loss, a share of its micro-batch's, in `loss`.
    void headForward(const Buffer& input, const Buffer& targets, DeviceRows rows, Head& keep, double* loss,
                     LayerProbe* probe) const;
    /// `normalised_grad` is filled.
    [[nodiscard]] Buffer headInputGradient(const Head& keep, Buffer& normalised_grad, DeviceRows rows,
                                           LayerProbe* probe) const;
    void headWeightGradient(const Head& keep, DeviceRows rows, DeviceGradientSum::Target target) const;

private:
    [[nodiscard]] bool first() const { return task_.place == 0; }
    [[nodiscard]] bool last() const { return task_.place == task_.places - 1; }
    [[nodiscard]] std::size_t firstPart(std::size_t block) const {
        return (first() ? 2 : 0) + block * Block::Parts::kParts;
    }
    [[nodiscard]] std::size_t head() const { return parameters_.parts() - 1; }

    const ModelConfig& config_;
    const StageTask& task_;
    const DeviceParameters<T>& parameters_;
    DeviceLayers<T> layers_;
};

} // namespace bubblescope::runtime
