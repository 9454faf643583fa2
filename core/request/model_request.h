#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// The user's description of a model: the name of a known model, and sizes that override its own.
struct ModelRequest {
    std::string preset;
    std::optional<std::int64_t> layers;
    std::optional<std::int64_t> hidden;
    std::optional<std::int64_t> heads;
    std::optional<std::int64_t> kv_heads;
    std::optional<std::int64_t> ffn;
    std::optional<std::int64_t> sequence;
    std::optional<std::int64_t> vocabulary;
    std::optional<std::int64_t> head_size;
    std::optional<std::int64_t> experts;
    std::optional<std::int64_t> top_k;
    std::optional<std::int64_t> expert_ffn;
    std::optional<std::int64_t> shared_ffn;
    std::optional<std::int64_t> dense_layers;

    [[nodiscard]] bool given() const;
    /// Without a preset, the sizes are those of a Llama-style model: SwiGLU, no biases, fused attention. Errors: Usage.
    [[nodiscard]] Result<TransformerShape> shape() const;

    friend bool operator==(const ModelRequest&, const ModelRequest&) = default;
};

} // namespace bubblescope
