#pragma once

#include "core/base/result.h"
#include "core/base/wire.h"
#include "runtime/model/gpt_layers.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace bubblescope::runtime {

/// A part of a layer of a GptStage with its inputs. It shares their memory with the stage, so that capturing costs the
/// op no work; code that would change shared memory writes elsewhere. The part is repeated on its rank's check queue.
/// On a device that shares the host's memory, the part can also copy its weights. Other threads or, after
/// serialisation, other processes can then execute the part. On other devices, the part stays with its rank: the ranks
/// of one process share a device, so another rank could not detect more faults than this rank.
template <class T>
class CapturedGptLayer final : public ReexecutableLayer {
    std::shared_ptr<ComputeQueue> queue_; // first member, because it must outlive all buffers

public:
    enum class Layer : std::uint8_t { Embedding, Block, Head };
    using Block = TransformerBlock<T>;

    /// References the layer's weights, which must outlive this object and not change before run(), unless detach() was
    /// called.
    CapturedGptLayer(std::shared_ptr<ComputeQueue> queue, LayerPart part, Layer layer,
                     const ParameterView<T>& parameters)
        : queue_(std::move(queue)), part_(part), layer_(layer), parameters_(parameters) {}

    void run(LayerProbe& probe) const override;
    [[nodiscard]] std::int64_t bytes() const override;
    void detach() override;
    [[nodiscard]] bool pack(WireWriter& wire) const override;
    /// Reads the output of pack() as a detached layer, for execution on `queue`, whose device shares the host's memory.
    /// Error: Input, if the bytes are not an executable layer. A returned layer can always be executed, regardless of
    /// the bytes.
    [[nodiscard]] static Result<std::unique_ptr<CapturedGptLayer>> unpack(WireReader& wire,
                                                                          std::shared_ptr<ComputeQueue> queue);

    // The inputs of this part of the layer.
    PieceRows rows;
    int heads = 1; ///< heads of a block on this rank
    Buffer input;  ///< input of a forward; for a backward, the gradient of the output
    Buffer tokens;
    Buffer targets;
    typename Block::Saved saved;
    std::vector<typename Block::Saved> earlier;
    typename Head<T>::Saved head;
    GradientSum::Kept gradient_sum; ///< the previous sum that the weight gradient was added to
    bool shared = false;            ///< true if other ranks took part in the block
    std::vector<Buffer> sums;       ///< sums computed by the ranks of the block

    /// Shares the inputs of backwardInput() or, for an earlier slice, the inputs of any part.
    [[nodiscard]] static typename Block::Saved shareForBackward(const typename Block::Saved& from);
    [[nodiscard]] static typename Block::Saved shareOfSlice(const typename Block::Saved& from);

private:
    void runEmbedding(const Layers<T>& layers) const;
    void runBlock(const Layers<T>& layers) const;
    void runHead(const Layers<T>& layers) const;
    /// Calls `work` with a column of gradients that covers only the layer's range, then passes that range to the
    /// probe.
    template <class Work>
    void weightGradient(const Layers<T>& layers, const Work& work) const;
    /// True if this object can leave its thread.
    [[nodiscard]] bool travels() const;
    /// Returns the range of the layer's weights.
    [[nodiscard]] FlatRun weightRun() const { return runOf(parameters_.parts); }
    /// Lists all serialised members except the parameters.
    template <class Wire, class Self>
    static void fields(Wire& wire, Self& self);
    [[nodiscard]] bool unpackParameters(WireReader& wire);
    /// True if all tensors have the shapes that run() requires.
    [[nodiscard]] bool fits() const;
    [[nodiscard]] bool embeddingFits() const;
    [[nodiscard]] bool blockFits() const;
    [[nodiscard]] bool headFits() const;
    /// True if a buffer holds this many values of type U; the values are not checked.
    template <class U = T>
    [[nodiscard]] static bool holds(const Buffer& buffer, std::initializer_list<std::int64_t> sizes);
    [[nodiscard]] bool isPart(std::size_t part, std::int64_t inputs, std::int64_t outputs) const;
    [[nodiscard]] bool namesRows(const Buffer& numbers, std::int64_t count) const;

    LayerPart part_;
    Layer layer_;
    ParameterView<T> parameters_;
    std::vector<FlatPart> own_parts_; ///< set when detached
    Buffer own_weights_;              ///< set when detached
};

/// Connects a rank to the ranks that share its stage, through the tensors that ranks exchange. Keeps copies of the sums
/// if a part of a layer will be repeated.
class GroupSums final : public PartSums {
public:
    /// `copies` may be null.
    GroupSums(ComputeQueue& queue, ShardSums& group, std::vector<Buffer>* copies)
        : queue_(queue), group_(group), copies_(copies) {}
    [[nodiscard]] Buffer addUp(Buffer part, std::int64_t rows, std::int64_t columns) override;

private:
    ComputeQueue& queue_;
    ShardSums& group_;
    std::vector<Buffer>* copies_;
};

} // namespace bubblescope::runtime
