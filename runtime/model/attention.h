#pragma once

#include "runtime/model/layers.h"

#include <cstdint>
#include <span>

namespace bubblescope::runtime {

/// How a rank's queries, keys and values lie: of each token the queries of all its heads, then the keys, then the
/// values, `width` features each.
struct AttentionShape {
    int batch = 1; ///< sequences
    int heads = 1; ///< of this rank
    std::int64_t width = 1;

    [[nodiscard]] std::int64_t headWidth() const { return width / heads; }
};

/// Causal self-attention (Vaswani et al. 2017). Scores of some heads at a time are kept in scratch memory that a GPU's
/// cache can hold. Softmax weights are saved for the gradient where the queue wants that, and else made again, so that
/// memory grows with the tokens and not with their square.
template <class T>
class Attention {
public:
    Attention(const Layers<T>& layers, AttentionShape shape) : layers_(layers), shape_(shape) {}

    /// `qkv` are those of `tokens` rows, `earlier` those of the slices before, in their order. Fills `saved` with the
    /// softmax weights (a row per query: batch, head, query, key) where they are saved.
    [[nodiscard]] Buffer attend(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens,
                                Buffer& saved) const;
    /// The gradient for `qkv`, to which that from later slices is added, unless it is empty: keys and values in float.
    /// What falls on earlier slices is added to theirs. What is `saved` is overwritten.
    [[nodiscard]] Buffer gradient(const Buffer& output_grad, const Buffer& qkv, std::span<const Buffer* const> earlier,
                                  std::int64_t tokens, const Buffer& saved, const Buffer& later_grad,
                                  std::span<Buffer* const> earlier_grads) const;

private:
    /// Some heads of one sequence.
    struct Group {
        const T* queries = nullptr; ///< of the group's first head
        const T* keys = nullptr;
        const T* values = nullptr;
        T* weights = nullptr;
        std::int64_t rows = 0; ///< queries
        std::int64_t seen = 0; ///< keys
        int first = 0;         ///< head
        int heads = 0;
    };
    struct Scratch {
        Buffer gathered; ///< queries, keys and values of all slices of one sequence, where there are several
        Buffer scores;
        Buffer weights; ///< where they are not saved
    };

    [[nodiscard]] std::int64_t seen(std::span<const Buffer* const> earlier, std::int64_t rows) const;
    [[nodiscard]] int headsAtOnce(std::int64_t rows, std::int64_t seen) const;
    /// Calls `work(sequence, group)` for all of them.
    template <class Work>
    void forGroups(const Buffer& qkv, std::span<const Buffer* const> earlier, std::int64_t tokens, const Buffer& saved,
                   Scratch& scratch, const Work& work) const;
    void makeWeights(const Group& group, Scratch& scratch) const;
    /// result = a · b, a head at a time.
    void multiply(const Group& group, GemmMatrix a, GemmMatrix b, GemmMatrix result, std::int64_t rows,
                  std::int64_t columns, std::int64_t inner, Storage out, float scale = 1.0F) const;
    [[nodiscard]] float scale() const;

    const Layers<T>& layers_;
    AttentionShape shape_;
};

} // namespace bubblescope::runtime
