#pragma once

#include "runtime/backend/accelerator/device_layers.h"
#include "runtime/model/transformer_block.h"

#include <array>
#include <span>

namespace bubblescope::runtime {

/// TransformerBlock on a device: the same parts in the same order, and the same split of the backward.
template <class T>
class DeviceBlock {
public:
    using Parts = TransformerBlock<float>;

    /// Of one piece, between its ops; see TransformerBlock::Kept. Weights of the attention are not kept.
    struct Kept {
        DeviceNormalised before;
        Buffer columns;
        Buffer attended;
        DeviceNormalised between;
        Buffer up;
        Buffer later_grad; ///< for keys and values, in float
        std::array<Buffer, Parts::kParts> output_grads;

        [[nodiscard]] std::int64_t bytes() const;
    };

    /// `first` is the place of the block's first part; `shape` has the heads of this rank. `probe` is shown what is
    /// computed, weights' gradients aside; null for none.
    DeviceBlock(const DeviceLayers<T>& layers, std::size_t first, DeviceAttentionShape shape,
                LayerProbe* probe = nullptr)
        : layers_(layers), first_(first), attention_(layers, shape), probe_(probe) {}

    [[nodiscard]] Buffer forward(Buffer input, std::int64_t tokens, std::span<Kept* const> earlier, Kept& kept) const;
    [[nodiscard]] Buffer backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Kept* const> earlier,
                                       Kept& kept) const;
    void backwardWeight(const Kept& kept, std::int64_t tokens, DeviceGradientSum::Target target) const;

private:
    [[nodiscard]] std::size_t at(std::size_t part) const { return first_ + part; }
    void show(CheckedTensor tensor, const Buffer& values) const { layers_.show(probe_, tensor, values); }
    void show(const DeviceNormalised& normalised) const {
        show(CheckedTensor::Normalised, normalised.values);
        layers_.template show<float>(probe_, CheckedTensor::Deviations, normalised.inverse_deviations);
    }
    [[nodiscard]] std::int64_t width() const { return layers_.columns(at(Parts::kNormBefore)); }

    const DeviceLayers<T>& layers_;
    std::size_t first_;
    DeviceAttention<T> attention_;
    LayerProbe* probe_;
};

} // namespace bubblescope::runtime
