#pragma once

#include "runtime/model/layers.h"

#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// The layout of a rank's queries, keys and values: for each token the queries of all its heads, then the keys, then
/// the values, `width` features each.
struct AttentionShape {
    int batch = 1; ///< number of sequences
    int heads = 1; ///< on this rank
    std::int64_t width = 1;

    [[nodiscard]] std::int64_t headWidth() const { return width / heads; }
};

/// Causal self-attention (Vaswani et al. 2017). The scores of several heads at a time are held in scratch memory that
/// fits a GPU's cache. The softmax weights are saved for the backward if the queue's traits ask for it, and recomputed
/// otherwise, so that memory grows linearly with the tokens.
template <class T>
class Attention {
public:
    Attention(const Layers<T>& layers, AttentionShape shape) : layers_(layers), shape_(shape) {}

    /// `qkv` belongs to `tokens` rows, `earlier` to the preceding slices, in order. Fills `saved` with the softmax
    /// weights (a row per query: batch, head, query, key) if they are saved.
    [[nodiscard]] Buffer attend(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens,
                                Buffer& saved) const;
    /// The gradient of `qkv`, plus the gradient from later slices unless that is empty (keys and values in float).
    /// Gradients of earlier slices are added to theirs. Overwrites `saved`.
    [[nodiscard]] Buffer gradient(const Buffer& output_grad, const Buffer& qkv, std::span<const Buffer* const> earlier,
                                  std::int64_t tokens, const Buffer& saved, const Buffer& later_grad,
                                  std::span<Buffer* const> earlier_grads) const;

private:
    /// Several heads of one sequence.
    struct Group {
        const T* queries = nullptr; ///< of the first head of the group
        const T* keys = nullptr;
        const T* values = nullptr;
        T* weights = nullptr;
        std::int64_t rows = 0; ///< number of queries
        std::int64_t seen = 0; ///< number of keys
        int first = 0;         ///< number of the first head
        int heads = 0;
    };
    struct Scratch {
        Buffer gathered; ///< queries, keys and values of all slices of one sequence, if there are several
        Buffer scores;
        Buffer weights; ///< if they are not saved
    };

    [[nodiscard]] std::int64_t seen(std::span<const Buffer* const> earlier, std::int64_t rows) const;
    [[nodiscard]] int headsAtOnce(std::int64_t rows, std::int64_t seen) const;
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

} // namespace bubblescope::runtime
