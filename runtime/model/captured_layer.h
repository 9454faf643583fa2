#pragma once

#include "core/base/result.h"
#include "core/base/wire.h"
#include "runtime/model/gpt_layers.h"
#include "runtime/model/transformer_block.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace bubblescope::runtime {

/// A part of a layer of a GptStage with copies of its inputs. It is executed again on the queue of its rank's checks.
/// Where a device shares the host's memory it can take its weights along, to be executed by other threads and, as
/// bytes, by other processes; elsewhere it stays with its rank: ranks of one process share a device, so another one
/// could tell no more than this one can.
template <class T>
class CapturedGptLayer final : public LayerReplay {
    std::shared_ptr<ComputeQueue> queue_; // first: it must live longer than all buffers

public:
    enum class Layer : std::uint8_t { Embedding, Block, Head };
    using Block = TransformerBlock<T>;

    /// The layer's weights; they must outlive it, and not change before run(), unless it is detached.
    CapturedGptLayer(std::shared_ptr<ComputeQueue> queue, LayerPart part, Layer layer,
                     const ParameterView<T>& parameters)
        : queue_(std::move(queue)), part_(part), layer_(layer), parameters_(parameters) {}

    void run(LayerProbe& probe) const override;
    [[nodiscard]] std::int64_t bytes() const override;
    void detach() override;
    [[nodiscard]] bool pack(WireWriter& wire) const override;
    /// What pack() has written, detached, to be executed on `queue`, whose device shares the host's memory. Error:
    /// Input, where the bytes are no layer that can be executed: whatever they are, what is returned can be.
    [[nodiscard]] static Result<std::unique_ptr<CapturedGptLayer>> unpack(WireReader& wire,
                                                                          std::shared_ptr<ComputeQueue> queue);

    // What its part of its layer takes.
    PieceRows rows;
    int heads = 1; ///< of a block, on this rank
    Buffer input;  ///< of a forward; gradient for the output of a backward
    Buffer tokens;
    Buffer targets;
    typename Block::Saved saved;
    std::vector<typename Block::Saved> earlier;
    typename Head<T>::Saved head;
    Buffer gradient_sum;      ///< what the weights' gradient was added to; empty = nothing
    bool shared = false;      ///< other ranks took part in the block
    std::vector<Buffer> sums; ///< that they came to

    /// What backwardInput() takes, or of an earlier slice what any part does, behind what is queued on `on` so far.
    [[nodiscard]] static typename Block::Saved copyForBackward(const typename Block::Saved& from, WorkQueue& on);
    [[nodiscard]] static typename Block::Saved copyOfSlice(const typename Block::Saved& from, WorkQueue& on);

private:
    void runEmbedding(const Layers<T>& layers) const;
    void runBlock(const Layers<T>& layers) const;
    void runHead(const Layers<T>& layers) const;
    /// A column of gradients to add to, of which only the layer's run is there; shows that once `work` has added to it.
    template <class Work>
    void weightGradient(const Layers<T>& layers, const Work& work) const;
    /// Whether it can leave its thread.
    [[nodiscard]] bool travels() const;
    /// Where its weights lie.
    [[nodiscard]] FlatRun weightRun() const { return runOf(parameters_.parts.front(), parameters_.parts.back()); }
    /// All that travels but the parameters.
    template <class Wire, class Self>
    static void fields(Wire& wire, Self& self);
    [[nodiscard]] bool unpackParameters(WireReader& wire);
    /// Whether all tensors have the shapes that run() takes.
    [[nodiscard]] bool fits() const;
    [[nodiscard]] bool embeddingFits() const;
    [[nodiscard]] bool blockFits() const;
    [[nodiscard]] bool headFits() const;
    /// Whether a buffer has so many values of type U; they may be any numbers.
    template <class U = T>
    [[nodiscard]] static bool holds(const Buffer& buffer, std::initializer_list<std::int64_t> sizes);
    [[nodiscard]] bool isPart(std::size_t part, std::int64_t inputs, std::int64_t outputs) const;
    [[nodiscard]] bool namesRows(const Buffer& numbers, std::int64_t count) const;

    LayerPart part_;
    Layer layer_;
    ParameterView<T> parameters_;
    std::vector<FlatPart> own_parts_; ///< when detached
    Buffer own_weights_;              ///< likewise
};

/// Joins a rank that shares its stage to the others, through the tensors that ranks exchange. Keeps copies of the sums
/// where a part of a layer is to be executed again.
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
