#pragma once

#include "core/base/result.h"
#include "core/cost/memory_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Sizes of a layer's tensors in bytes (`parameters` is a count), on one device and for one micro-batch.
struct LayerSizes {
    std::int64_t parameters = 0;         ///< number of elements, not bytes
    std::int64_t activation = 0;         ///< bytes kept from the forward to the backward
    std::int64_t until_weight_grad = 0;  ///< bytes kept from I to W if the backward is split: W's part of `activation`
                                         ///< and the tensors that I computes for W
    std::int64_t input = 0;              ///< the part of `activation` that is the layer's input
    std::int64_t forward_workspace = 0;  ///< additional bytes while the forward runs
    std::int64_t backward_workspace = 0; ///< additional bytes while the backward or one of its halves runs
    std::int64_t expert_parameters = 0;  ///< part of `parameters` that is divided among expert-parallel ranks

    /// Adds sizes, but takes the maximum of the workspaces, because layers run one after another.
    LayerSizes& operator+=(const LayerSizes& other);
};

/// Sizes of a model's tensors.
struct ModelSizes {
    std::vector<LayerSizes> layers;
    LayerSizes first; ///< added to the first stage's layers: the embedding
    LayerSizes last;  ///< added to the last stage's layers: the output head and loss
    /// Bytes per parameter, by default for 16-bit training with Adam (optimizer state: 32-bit weights and two moments).
    std::int64_t weight_bytes = 2;
    std::int64_t gradient_bytes = 2;
    std::int64_t optimizer_bytes = 12;
    std::int64_t optimizer_shards = 1; ///< number of data-parallel ranks that shard the optimizer state
    std::int64_t expert_shards = 1;    ///< same for experts, which have smaller groups
    std::int64_t weight_shards = 1;    ///< number of data-parallel ranks that shard weights and gradients, as in FSDP
    std::vector<int> layers_per_stage; ///< empty = evenly
};

/// The experts of a mixture-of-experts model.
struct Experts {
    std::int64_t count = 0;        ///< number of routed experts per layer; 0 = the model has no experts
    std::int64_t top_k = 1;        ///< number of routed experts per token
    std::int64_t ffn = 0;          ///< feed-forward size of an expert
    std::int64_t shared_ffn = 0;   ///< feed-forward size of the shared experts, which process every token
    std::int64_t dense_layers = 0; ///< number of initial layers without experts, which use the model's `ffn`
    std::int64_t ranks = 1;        ///< number of expert-parallel ranks that share the routed experts
};

/// Multi-head latent attention (DeepSeek-V2): queries, keys and values are computed from smaller vectors.
struct LatentAttention {
    std::int64_t query = 0; ///< size of the vector from which queries are computed
    std::int64_t keys = 0;  ///< size of the vector from which keys and values are computed; 0 = ordinary attention
    std::int64_t rope = 0;  ///< additional elements per head of queries and keys, which encode the position
};

/// The shape of a GPT- or Llama-style transformer: layers, embedding and head.
struct TransformerShape {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;     ///< h
    std::int64_t heads = 0;      ///< a
    std::int64_t kv_heads = 0;   ///< 0 = same as heads
    std::int64_t ffn = 0;        ///< f; 0 = 4h
    std::int64_t sequence = 0;   ///< s, tokens
    std::int64_t microbatch = 1; ///< b, samples
    std::int64_t vocabulary = 0; ///< V; 0 = no embedding and no head
    std::int64_t tp = 1;         ///< t, tensor-parallel ranks
    std::int64_t dtype_bytes = 2;
    bool sequence_parallel = false; ///< true if tensors not split by tensor parallelism are split along the sequence
    bool swiglu = false;            ///< gated feed-forward without biases, as in Llama; otherwise GELU with biases
    bool dropout = true;
    bool flash_attention = false; ///< true if attention scores are not kept for the backward
    /// The part that the backward recomputes: nothing; the attention scores; everything except the layer's input; or
    /// everything except attention's result and every second matrix product (torchtitan's "selective", per op).
    enum class Recompute { None, Attention, Full, Selective } recompute = Recompute::None;
    std::int64_t head_size = 0; ///< 0 = hidden / heads
    LatentAttention latent{};
    Experts experts{};

    [[nodiscard]] bool hasExperts(std::int64_t layer) const {
        return experts.count > 0 && layer >= experts.dense_layers;
    }
};

/// Sizes of attention's tensors per token, in elements, summed over all tensor-parallel ranks.
struct AttentionWidths {
    std::int64_t query = 0;
    std::int64_t key = 0;
    std::int64_t value = 0;
    std::int64_t result = 0;
    std::int64_t latent = 0; ///< vectors of latent attention; every tensor-parallel rank computes all of them

    [[nodiscard]] std::int64_t heads() const { return query + key + value + result; }
};

/// Number of weights in attention's matrix products: `split` / t + `whole` per layer and rank.
struct AttentionWeights {
    std::int64_t split = 0; ///< divided among the tensor-parallel ranks
    std::int64_t whole = 0; ///< weights that compute the vectors of latent attention
};

/// `shape` must be complete (see withDefaults()).
[[nodiscard]] AttentionWidths attentionWidths(const TransformerShape& shape);
[[nodiscard]] AttentionWeights attentionWeights(const TransformerShape& shape);

/// Computes sizes from a shape. Per token, with d bytes per element and r = t with sequence parallelism, otherwise 1
/// (table 2 of Korthikanti et al., 2022 is the case d = 2, f = 4h, GELU, dropout; for t = 1: 34h + 5as):
///
///     kept:          4dh/r                inputs of the two norms, of Q/K/V and of the feed-forward
///                  + (2dh + 2dh_kv)/t     Q, K, V and the attention's result; h_kv = h · kv_heads / heads (for
///                                         heads of another size, and latent attention: attentionWidths())
///                  + 2df/t                around GELU (SwiGLU: 3df/t, its gate, its other input and their product)
///                  + 2h/r                 with dropout: masks of the two outputs
///                  + ads/t                scores after softmax, + a(1+d)s/t with dropout: their mask and result
///     from I to W:   4dh/r + (2dh + 2dh_kv)/t + 2df/t   inputs of the four matrix products and gradients of
///                                          their results (SwiGLU: 3df/t)
///
/// In a layer with experts, f is that of the shared experts. The k routed experts of a token keep k(dh + 3df_e)/r:
/// their copies of the token, and the tensors around their activation function. From I to W, the experts keep k(2dh +
/// 3df_e)/r. Tensor parallelism splits the tokens of routed experts, but not the experts. Tokens are assumed to be
/// spread evenly over the experts.
///
/// For d = 2, f = 4h, r = t = 1, the second sum is 32h, as in Qi et al., 2023. Recomputed tensors are not kept; those
/// of one layer form the backward's workspace instead. Selective recomputation keeps the layer's input, Q, V,
/// attention's result, one input of the activation, and the feed-forward's result.
///
/// Parameters: h(2h + 2h_kv)/t + 2hf/t (SwiGLU: 3hf/t), the norms, and with GELU the biases. With f = 4h and t = 1 this
/// is 12h² + 13h. Experts: (experts / ranks) · 3hf_e, and the router's h · experts. First stage: an embedding of V·h/t
/// parameters and dropout's mask. Last stage: the same number of parameters plus a norm, the inputs of head and norm,
/// and 32-bit logits. Errors: Usage, if a size is missing or not divisible as required.
[[nodiscard]] Result<ModelSizes> transformerSizes(const TransformerShape& shape);

/// Reads a JSON object with the fields of ModelSizes, or with those of TransformerShape under "transformer"; see the
/// manual, "Simulation". Errors: Input, with the file and the position.
[[nodiscard]] Result<ModelSizes> readModelSizes(const std::string& file);
[[nodiscard]] Result<ModelSizes> modelSizesFrom(std::string_view text, const std::string& where);

/// Memory of a model that is divided into the stages of a schedule. If two pipelines share the ranks, each holds the
/// complete model. Errors: Usage if the layers cannot be divided this way or need more than an exbibyte.
[[nodiscard]] Result<MemoryModel> memoryModel(const ModelSizes& sizes, const Schedule& schedule);

} // namespace bubblescope
