#include "app/cli/model_size_options.h"

#include "core/cost/devices.h"
#include "core/cost/model_presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bubblescope::cli {

void addModelSizeOptions(Command command, ModelRequest& request, Listed listed) {
    command.addOption("--preset", request.preset, fmt::format("A known model: {}", fmt::join(modelPresetNames(), ", ")))
        .typeName("MODEL")
        .suggests(modelPresetNames());
    const auto number = [&](const char* name, std::optional<std::int64_t>& value, const char* about,
                            bool rare = false) {
        const Option option = command.addOption(name, value, about).typeName("N");
        if (rare || listed != Listed::Always) option.rare();
    };
    number("--layers", request.layers, "Transformer layers");
    number("--hidden", request.hidden, "Hidden size");
    number("--heads", request.heads, "Attention heads");
    number("--kv-heads", request.kv_heads, "Key and value heads (default: same as heads)");
    number("--ffn", request.ffn, "Feed-forward size (default: 4 x hidden)");
    number("--sequence", request.sequence, "Tokens per sequence");
    number("--vocabulary", request.vocabulary, "Vocabulary size (0: neither embedding nor head)");
    number("--head-size", request.head_size, "Size of an attention head (default: hidden / heads)", true);
    number("--experts", request.experts, "Routed experts per layer (default: none)");
    number("--top-k", request.top_k, "Routed experts per token (1)", true);
    number("--expert-ffn", request.expert_ffn, "Feed-forward size of an expert", true);
    number("--shared-ffn", request.shared_ffn, "Feed-forward size of the shared experts (0)", true);
    number("--dense-layers", request.dense_layers, "Layers at the start without experts (0)", true);
}

void addModelUseOptions(Command command, ModelUseRequest& request) {
    command.optionGroup("Model FLOPs utilisation");
    addModelSizeOptions(command, request.model, Listed::InFullHelp);
    command.addOption("--global-batch", request.global_batch, "Sequences per step, over all replicas")
        .typeName("N")
        .positive()
        .rare();
    command.addOption("--gpu", request.device, fmt::format("The device ({})", fmt::join(deviceNames(), ", ")))
        .typeName("NAME")
        .suggests(deviceNames())
        .rare();
    command.addOption("--tflops", request.teraflops, "Peak FLOP rate of a device, instead of its name")
        .typeName("TFLOPS")
        .range(0.001, 1e6)
        .rare();
    command
        .addOption("--gpus", request.devices, "Devices in the job (default: tp x dp x pp, where known from the trace)")
        .typeName("N")
        .range(1, 1 << 24)
        .rare();
}

} // namespace bubblescope::cli
