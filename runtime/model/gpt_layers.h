#pragma once

#include "runtime/model/layers.h"

#include <array>
#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// The layout of a rank's queries, keys and values: for each token, the queries of all its heads, then the keys, then
/// the values, `width` features each.
struct AttentionShape {
    int batch = 1; ///< number of sequences
    int heads = 1; ///< on this rank
    std::int64_t width = 1;

    [[nodiscard]] std::int64_t headWidth() const { return width / heads; }
};

/// Causal self-attention (Vaswani et al. 2017). If the device supports this, all heads of all sequences are computed in
/// one fused kernel that keeps no scores in memory. Otherwise the scores of several heads at a time are held in scratch
/// memory that fits a GPU's cache. The softmax weights are kept for the backward if the queue's traits request it, and
/// recomputed otherwise. Unless the weights are kept, memory grows linearly with the number of tokens.
template <class T>
class Attention {
public:
    Attention(const Layers<T>& layers, AttentionShape shape) : layers_(layers), shape_(shape) {}

    /// The data that attend() stores for gradient().
    struct Saved {
        const Buffer& attended; ///< the result of attend()
        const Buffer& weights;
    };
    /// True if the device computes attention in one kernel.
    [[nodiscard]] bool fused() const {
        return layers_.queue().device().fusesAttention(kStorage<T>, shape_.headWidth());
    }

    /// `qkv` holds `tokens` rows; `earlier` contains the rows of the preceding slices, in order. Fills `saved` with the
    /// softmax weights if they are kept (one row per query: batch, head, query, key). For fused attention, `saved`
    /// contains the log-sum-exp of each query's scores per head, in float.
    [[nodiscard]] Buffer attend(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens,
                                Buffer& saved) const;
    /// The gradient of `qkv`, plus the gradient from later slices unless that is empty (keys and values in float).
    /// Gradients for earlier slices are added to the gradients of those slices. Overwrites the kept weights.
    [[nodiscard]] Buffer gradient(const Buffer& output_grad, const Buffer& qkv, std::span<const Buffer* const> earlier,
                                  std::int64_t tokens, const Saved& saved, const Buffer& later_grad,
                                  std::span<Buffer* const> earlier_grads) const;

private:
    /// Several heads of one sequence.
    struct Group {
        const T* queries = nullptr; ///< queries of the first head in the group
        const T* keys = nullptr;
        const T* values = nullptr;
        T* weights = nullptr;
        std::int64_t rows = 0; ///< number of queries
        std::int64_t seen = 0; ///< number of keys
        int first = 0;         ///< index of the first head
        int heads = 0;
    };
    struct Scratch {
        Buffer gathered; ///< gathered data of one sequence; see gather()
        Buffer scores;
        Buffer weights; ///< weights that are not kept
    };

    [[nodiscard]] std::int64_t seen(std::span<const Buffer* const> earlier, std::int64_t rows) const;
    [[nodiscard]] int headsAtOnce(std::int64_t rows, std::int64_t seen) const;
    /// Copies queries, keys and values of all slices of a sequence, in order.
    void gather(T* to, int sequence, const Buffer& qkv, std::span<const Buffer* const> earlier) const;
    /// Adds gradients of the keys and values of all slices of a sequence to the gradients of each slice.
    void scatter(const float* gathered, int sequence, std::span<Buffer* const> earlier_grads, Buffer& grad,
                 std::int64_t rows) const;
    [[nodiscard]] AttentionSizes sizes(std::int64_t rows, std::int64_t seen) const;
    /// Queries, keys and values of all sequences; the keys and values include earlier slices.
    struct FusedInput;
    void attendFused(const FusedInput& input, Buffer& output, Buffer& logs) const;
    void gradientFused(const FusedInput& input, const Buffer& output_grad, const Saved& saved, Buffer& grad,
                       Buffer& gathered_grad) const;
    /// Calls `work(sequence, group)` for all groups of all sequences.
    template <class Work>
    void forGroups(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens, const Buffer& saved,
                   Scratch& scratch, const Work& work) const;
    void makeWeights(const Group& group, Scratch& scratch) const;
    /// result = a · b for each head.
    void multiply(const Group& group, GemmMatrix a, GemmMatrix b, GemmMatrix result, std::int64_t rows,
                  std::int64_t columns, std::int64_t inner, Storage out, float scale = 1.0F) const;
    [[nodiscard]] float scale() const;

    const Layers<T>& layers_;
    AttentionShape shape_;
};

/// A pre-norm transformer block: y = x + projection(attention(qkv(ln1(x)))), then y + fc2(gelu(fc1(ln2(y)))). The
/// backward consists of two halves, which schedules may run separately.
template <class T>
class TransformerBlock {
public:
    using Parts = BlockParts;

    /// The data stored for a piece between its ops. F fills everything except the gradients. I adds the gradients of
    /// each part's output, and frees the data that only I needed. The inputs of linear layers are recomputed from the
    /// stored normalisations, which is cheap and saves memory.
    struct Saved {
        Normalised ln1; ///< kept until W; its deviations until I
        Buffer qkv;     ///< kept until I
        Buffer weights; ///< data from attend(), kept until I; empty if it is recomputed
        Buffer attended;
        Normalised ln2;
        Buffer hidden;                                  ///< input of GELU
        Buffer later_grad;                              ///< gradient of keys and values from later slices, in float
        std::array<Buffer, Parts::kParts> output_grads; ///< kept from I to W

        [[nodiscard]] std::int64_t bytes() const;
    };

    /// `layers` contains the block's parameters; `heads` is the number of heads on this rank.
    TransformerBlock(const Layers<T>& layers, int batch, int heads)
        : layers_(layers), attention_(layers_, {batch, heads, layers.columns(Parts::kQkv) / 3}) {}
    TransformerBlock(const TransformerBlock&) = delete;
    TransformerBlock& operator=(const TransformerBlock&) = delete;

    /// `earlier` are the preceding slices of the same sequences.
    [[nodiscard]] Buffer forward(Buffer input, std::int64_t tokens, std::span<Saved* const> earlier,
                                 Saved& saved) const;
    /// Slices of a sequence must be passed from last to first.
    [[nodiscard]] Buffer backwardInput(Buffer output_grad, std::int64_t tokens, std::span<Saved* const> earlier,
                                       Saved& saved) const;
    void backwardWeight(const Saved& saved, std::int64_t tokens, GradientSum::Target target) const;

private:
    void show(CheckedTensor tensor, const Buffer& values) const { layers_.show(tensor, values); }
    [[nodiscard]] std::int64_t width() const { return layers_.columns(Parts::kLn1); }

    Layers<T> layers_;
    Attention<T> attention_;
};

// The first and last layer of a GPT, with interfaces like TransformerBlock's.

/// The first layer: the sum of the token embedding and the position embedding. The layer's parameters are the two
/// tables; the gradient of its input equals the gradient of its output.
template <class T>
class Embedding {
public:
    explicit Embedding(const Layers<T>& layers) : layers_(layers) {}

    /// `tokens` holds one int per row.
    [[nodiscard]] Buffer forward(const Buffer& tokens, const PieceRows& rows) const;
    void backwardWeight(const Buffer& tokens, const Buffer& output_grad, const PieceRows& rows,
                        GradientSum::Target target) const;

private:
    [[nodiscard]] std::int64_t width() const { return layers_.columns(0); }
    [[nodiscard]] std::int64_t vocabulary() const { return layers_.parameters().part(0).rows; }

    Layers<T> layers_;
};

/// The last layer: a normalisation, a linear layer that computes logits, and the cross-entropy with the next tokens.
/// The layer's parameters belong to the normalisation and the linear layer.
template <class T>
class Head {
public:
    enum : std::size_t { kNorm, kLinear };

    /// Activations of a piece that are kept between its ops.
    struct Saved {
        Normalised normalised;  ///< kept until W; its deviations until I
        Buffer logits_grad;     ///< kept until W
        Buffer normalised_grad; ///< kept from I to W

        [[nodiscard]] std::int64_t bytes() const {
            return normalised.bytes() + logits_grad.bytes() + normalised_grad.bytes();
        }
    };

    explicit Head(const Layers<T>& layers) : layers_(layers) {}

    /// `targets` holds one int per row. Writes the piece's share of its micro-batch's mean loss to one of the doubles
    /// in `losses`; gradients are for this share.
    void forward(const Buffer& input, const Buffer& targets, const PieceRows& rows, Saved& saved, const Buffer& losses,
                 std::size_t number) const;
    /// Fills `normalised_grad`.
    [[nodiscard]] Buffer backwardInput(const Saved& saved, Buffer& normalised_grad, const PieceRows& rows) const;
    void backwardWeight(const Saved& saved, const PieceRows& rows, GradientSum::Target target) const;

private:
    Layers<T> layers_;
};

} // namespace bubblescope::runtime
