#include "core/plan/launch_settings.h"

#include "core/cost/partition.h"
#include "core/frameworks/layer_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace bubblescope::plan {
namespace {

class Settings {
public:
    explicit Settings(std::string framework) { made_.framework = std::move(framework); }

    template <class T>
    void add(std::string name, const T& value) {
        made_.settings.push_back({std::move(name), fmt::format("{}", value)});
    }
    void add(std::string name) { made_.settings.push_back({std::move(name), {}}); }
    template <class T>
    void addIf(bool condition, std::string name, const T& value) {
        if (condition) add(std::move(name), value);
    }
    LaunchSettings take() && { return std::move(made_); }
    LaunchSettings refuse(std::string reason) && {
        made_.missing = std::move(reason);
        made_.settings.clear();
        return std::move(made_);
    }

private:
    LaunchSettings made_;
};

bool even(const Layout& layout) {
    return std::ranges::adjacent_find(layout.layers_per_stage, std::not_equal_to{}) == layout.layers_per_stage.end();
}

bool selective(const Layout& layout) {
    return layout.recompute == TransformerShape::Recompute::Selective;
}

/// True if gradients or weights are sharded in a pipeline.
bool shardsStages(const Layout& layout) {
    return layout.zero >= Zero::Gradients && layout.pp > 1;
}

bool recomputes(const Layout& layout) {
    return layout.recompute == TransformerShape::Recompute::Full;
}

void addSharding(Settings& settings, const Layout& layout) {
    if (layout.zero == Zero::None) return;
    settings.add("--use-distributed-optimizer");
    settings.add("--overlap-grad-reduce");
    settings.add("--overlap-param-gather");
    if (layout.zero == Zero::Optimizer) return;
    settings.add("--use-megatron-fsdp");
    settings.add("--ckpt-format", "fsdp_dtensor"); // the only one it accepts
    settings.add("--data-parallel-sharding-strategy",
                 layout.zero == Zero::Weights ? "optim_grads_params" : "optim_grads");
}

void addExperts(Settings& settings, const Layout& layout, const Problem& problem) {
    const TransformerShape& shape = problem.shape;
    const Experts& experts = shape.experts;
    if (experts.count == 0) return;
    settings.add("--num-experts", experts.count);
    settings.add("--moe-router-topk", experts.top_k);
    settings.add("--moe-ffn-hidden-size", experts.ffn);
    settings.addIf(experts.shared_ffn > 0, "--moe-shared-expert-intermediate-size", experts.shared_ffn);
    settings.addIf(experts.dense_layers > 0, "--moe-layer-freq",
                   fmt::format("([0]*{}+[1]*{})", experts.dense_layers, shape.layers - experts.dense_layers));
    settings.add("--moe-grouped-gemm");
    settings.add("--moe-token-dispatcher-type", problem.cluster.sends_once ? "flex" : "alltoall");
    settings.addIf(problem.cluster.sends_once, "--moe-flex-dispatcher-backend", "deepep");
    settings.add("--expert-model-parallel-size", layout.ep);
    settings.add("--expert-tensor-parallel-size", 1);
}

LaunchSettings megatron(const Layout& layout, const Problem& problem) {
    Settings settings("Megatron-core");
    if (layout.schedule != "1f1b" && layout.schedule != "interleaved")
        return std::move(settings).refuse("it generates only 1f1b and interleaved");
    if (selective(layout))
        return std::move(settings).refuse("it recomputes whole modules, not every other matrix product");
    settings.add("--tensor-model-parallel-size", layout.tp);
    if (layout.tp > 1) settings.add("--sequence-parallel");
    settings.addIf(layout.cp > 1, "--context-parallel-size", layout.cp);
    addExperts(settings, layout, problem);
    settings.add("--pipeline-model-parallel-size", layout.pp);
    if (even(layout)) {
        settings.addIf(layout.vpp > 1, "--num-virtual-stages-per-pipeline-rank", layout.vpp);
    } else {
        const auto text = layoutToMegatron(layoutOf(Partition{layout.layers_per_stage}), layout.pp);
        if (!text.ok()) return std::move(settings).refuse(text.error().message);
        settings.add("--pipeline-model-parallel-layout", text.value());
    }
    settings.add("--micro-batch-size", layout.microbatch);
    settings.add("--global-batch-size", problem.global_batch);
    addSharding(settings, layout);
    if (recomputes(layout)) {
        settings.add("--recompute-granularity", "full");
        settings.add("--recompute-method", "uniform");
        settings.add("--recompute-num-layers", 1);
    }
    settings.addIf(problem.cluster.precision == Precision::Fp8, "--fp8-format", "hybrid");
    return std::move(settings).take();
}

std::string_view torchSchedule(std::string_view family) {
    if (family == "1f1b") return "1F1B";
    if (family == "interleaved") return "Interleaved1F1B";
    if (family == "interleaved-zb") return "InterleavedZeroBubble";
    if (family == "zb-v") return "ZBVZeroBubble";
    if (family == "dualpipev") return "DualPipeV";
    return {};
}

LaunchSettings torchtitan(const Layout& layout, const Problem& problem) {
    Settings settings("torchtitan");
    const std::string_view schedule = torchSchedule(layout.schedule);
    if (schedule.empty()) return std::move(settings).refuse(fmt::format("PyTorch has no schedule {}", layout.schedule));
    if (shardsStages(layout))
        return std::move(settings).refuse(
            layout.zero == Zero::Weights
                ? "PyTorch's schedules keep a stage's weights and gradients unsharded from its first backward to its "
                  "last"
                : "PyTorch's schedules accumulate unsharded gradients and reduce them once per step");
    const auto parallel = [&](bool condition, std::string_view name, const auto& value) {
        settings.addIf(condition, fmt::format("--parallelism.{}", name), value);
    };
    parallel(true, "tensor_parallel_degree", layout.tp);
    parallel(layout.cp > 1, "context_parallel_degree", layout.cp);
    parallel(true, "data_parallel_shard_degree", layout.dp);
    parallel(problem.shape.experts.count > 0, "expert_parallel_degree", layout.ep);
    parallel(layout.zero == Zero::Gradients, "fsdp_reshard_after_forward", "never");
    parallel(layout.pp > 1, "pipeline_parallel_degree", layout.pp);
    parallel(layout.pp > 1, "pipeline_parallel_schedule", schedule);
    parallel(layout.pp > 1, "num_pp_microbatches", layout.microbatches);
    if (layout.pp > 1) {
        const auto names = modulesPerStage(layoutOf(Partition{layout.layers_per_stage}), false);
        if (!names.ok()) return std::move(settings).refuse(names.error().message);
        parallel(true, "module_fqns_per_model_part", names.value());
    }
    settings.add("--training.num_tokens_per_microbatch_per_dp_rank", layout.microbatch * problem.shape.sequence);
    settings.add("--training.num_tokens_per_train_step", problem.global_batch * problem.shape.sequence);
    settings.add("--training.max_context_length", problem.shape.sequence);
    settings.addIf(recomputes(layout), "activation checkpointing", "full");
    settings.addIf(selective(layout), "activation checkpointing", "selective, per op");
    return std::move(settings).take();
}

/// The reason why a framework other than Megatron-core and torchtitan has no settings for this model or recomputation.
std::string_view unsupported(const Layout& layout, const Problem& problem) {
    if (problem.shape.experts.count > 0) return "its expert options are not supported here";
    if (selective(layout)) return "it cannot recompute every other matrix product";
    return {};
}

LaunchSettings deepSpeed(const Layout& layout, const Problem& problem) {
    Settings settings("DeepSpeed");
    if (const std::string_view reason = unsupported(layout, problem); !reason.empty())
        return std::move(settings).refuse(std::string(reason));
    if (shardsStages(layout)) return std::move(settings).refuse("its pipeline engine rejects ZeRO 2 and 3");
    if (layout.schedule != "1f1b") return std::move(settings).refuse("it generates only 1f1b");
    if (layout.cp > 1) return std::move(settings).refuse("it has no ring attention");
    settings.addIf(layout.tp > 1, "tensor_parallel.autotp_size", layout.tp);
    if (layout.pp > 1) {
        settings.add("PipelineModule num_stages", layout.pp);
        settings.addIf(!even(layout), "PipelineModule parts", partitionToDeepSpeed(Partition{layout.layers_per_stage}));
    }
    settings.add("train_micro_batch_size_per_gpu", layout.microbatch);
    settings.add("gradient_accumulation_steps", layout.microbatches);
    settings.add("zero_optimization.stage", static_cast<int>(layout.zero));
    settings.addIf(recomputes(layout), "activation checkpointing", "every layer");
    return std::move(settings).take();
}

LaunchSettings paddle(const Layout& layout, const Problem& problem) {
    Settings settings("Paddle");
    if (const std::string_view reason = unsupported(layout, problem); !reason.empty())
        return std::move(settings).refuse(std::string(reason));
    if (shardsStages(layout)) return std::move(settings).refuse("its trainer rejects stages 2 and 3 in a pipeline");
    const bool known = layout.schedule == "1f1b" || layout.schedule == "interleaved";
    if (!known) return std::move(settings).refuse("its trainer has options only for 1f1b and interleaved");
    if (!even(layout)) return std::move(settings).refuse("its trainer distributes layers evenly");
    settings.add("--tensor_parallel_degree", layout.tp);
    settings.addIf(layout.tp > 1, "--sequence_parallel", 1);
    settings.addIf(layout.cp > 1, "--context_parallel_degree", layout.cp);
    settings.add("--pipeline_parallel_degree", layout.pp);
    settings.addIf(layout.vpp > 1, "--virtual_pp_degree", layout.vpp);
    settings.addIf(layout.zero != Zero::None, "--sharding", fmt::format("stage{}", static_cast<int>(layout.zero)));
    settings.addIf(layout.zero != Zero::None, "--sharding_parallel_degree", layout.dp);
    settings.add("--per_device_train_batch_size", layout.microbatch);
    settings.add("--gradient_accumulation_steps", layout.microbatches);
    settings.addIf(recomputes(layout), "--recompute", 1);
    return std::move(settings).take();
}

} // namespace

std::vector<LaunchSettings> launchSettings(const Layout& layout, const Problem& problem) {
    return {megatron(layout, problem), torchtitan(layout, problem), deepSpeed(layout, problem),
            paddle(layout, problem)};
}

} // namespace bubblescope::plan
