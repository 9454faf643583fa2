#pragma once

#include "runtime/backend/accelerator/device_gpt.h"

#include <cstdint>
#include <vector>

namespace bubblescope::runtime {

/// A part of a layer of a DeviceStage with copies of its inputs. It runs on the queue of its rank's checks, inside
/// RankDevice::runCheck(), and stays with its rank: ranks of one process share a device, so another one could tell no
/// more than this one can.
template <class T>
class DeviceReplay final : public LayerReplay {
public:
    enum class Layer : std::uint8_t { Embedding, Block, Head };
    using Block = DeviceBlock<T>;

    /// `gpt` computes on the queue of checks. `block`: which one of the stage's.
    DeviceReplay(const DeviceGpt<T>& gpt, LayerPart part, Layer layer, std::size_t block, FlatRun weights)
        : gpt_(gpt), part_(part), layer_(layer), block_(block), weights_(weights) {}

    void run(LayerProbe& probe) const override;
    [[nodiscard]] std::int64_t bytes() const override;
    void detach() override;

    // What its part of its layer takes.
    DeviceRows rows;
    Buffer input; ///< of a forward; gradient for the output of a backward
    Buffer tokens;
    Buffer targets;
    typename Block::Kept kept;
    std::vector<typename Block::Kept> earlier;
    typename DeviceGpt<T>::Head head;
    Buffer sum; ///< what a weights' gradient was added to; empty = nothing

    /// What backwardInput() takes, or of an earlier slice what any part does, behind what is queued on `on` so far.
    [[nodiscard]] static typename Block::Kept copyForBackward(const typename Block::Kept& from, WorkQueue& on);
    [[nodiscard]] static typename Block::Kept copyOfSlice(const typename Block::Kept& from, WorkQueue& on);

private:
    void runEmbedding(LayerProbe& probe) const;
    void runBlock(LayerProbe& probe) const;
    void runHead(LayerProbe& probe) const;
    /// A column of gradients to add to, of which only the layer's run is there; shows that once `work` has added to it.
    template <class Work>
    void weightGradient(LayerProbe& probe, const Work& work) const;

    const DeviceGpt<T>& gpt_;
    LayerPart part_;
    Layer layer_;
    std::size_t block_;
    FlatRun weights_;
};

} // namespace bubblescope::runtime
