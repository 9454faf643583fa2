#include "core/request/model_request.h"

#include "core/cost/model_flops.h"
#include "core/cost/model_presets.h"

namespace bubblescope {

bool ModelRequest::given() const {
    return !preset.empty() || layers || hidden || heads || kv_heads || ffn || sequence || vocabulary || head_size ||
           experts || top_k || expert_ffn || shared_ffn || dense_layers;
}

Result<TransformerShape> ModelRequest::shape() const {
    TransformerShape made;
    if (!preset.empty()) {
        BUBBLESCOPE_ASSIGN(made, modelPresetShape(preset));
    } else {
        if (!layers || !hidden || !heads || !sequence)
            return usageError("no model given",
                              "use a known model, or specify its layers, hidden size, heads and sequence length");
        made.swiglu = true;
        made.dropout = false;
        made.flash_attention = true;
    }
    const auto set = [](std::int64_t& value, const std::optional<std::int64_t>& given) {
        if (given) value = *given;
    };
    set(made.layers, layers);
    set(made.hidden, hidden);
    set(made.heads, heads);
    set(made.kv_heads, kv_heads);
    set(made.ffn, ffn);
    set(made.sequence, sequence);
    set(made.vocabulary, vocabulary);
    set(made.head_size, head_size);
    set(made.experts.count, experts);
    set(made.experts.top_k, top_k);
    set(made.experts.ffn, expert_ffn);
    set(made.experts.shared_ffn, shared_ffn);
    set(made.experts.dense_layers, dense_layers);
    if (made.experts.count == 0 && (top_k || expert_ffn || shared_ffn || dense_layers))
        return usageError("expert sizes were given for a model without experts",
                          "specify the number of experts, or choose a model with experts");
    made = withDefaults(made);
    BUBBLESCOPE_TRY(transformerSizes(made));
    return made;
}

} // namespace bubblescope
