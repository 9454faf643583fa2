#include "core/frameworks/order_setup.h"

#include "core/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope {
namespace {

struct FrameworkName {
    Framework framework;
    const char* option;
    const char* people;
};
constexpr std::array<FrameworkName, 5> kFrameworks{{{Framework::Torchtitan, "torchtitan", "torchtitan"},
                                                    {Framework::GraphPp, "graph-pp", "torchtitan's graph_pp"},
                                                    {Framework::Automodel, "automodel", "NeMo Automodel"},
                                                    {Framework::Megatron, "megatron", "Megatron-core"},
                                                    {Framework::DeepSpeed, "deepspeed", "DeepSpeed"}}};

const char* peoplesName(Framework framework) {
    return std::ranges::find(kFrameworks, framework, &FrameworkName::framework)->people;
}

bool hasPairs(const Schedule& schedule) {
    return std::ranges::any_of(schedule.ranks, [](const std::vector<Op>& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.overlapped; });
    });
}

bool hasSlices(const Schedule& schedule) {
    return std::ranges::any_of(schedule.ranks, [](const std::vector<Op>& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.sequence > 0; });
    });
}

/// PyTorch's schedule with the placement of this order; the order itself is read from the file.
Result<std::string> torchName(const Schedule& schedule, const std::string& people) {
    if (routes(schedule.placement) > 1) {
        return usageError(
            fmt::format("{} builds each stage once, but this order runs two pipelines in opposite directions", people),
            "choose an order with loop or V placement");
    }
    if (hasSlices(schedule))
        return usageError(fmt::format("{} does not split sequences", people),
                          "choose an order that runs whole micro-batches");
    if (schedule.vpp == 1) return std::string("1F1B");
    if (schedule.placement == Placement::Loop) return std::string("Interleaved1F1B");
    if (schedule.vpp == 2) return std::string("ZBVZeroBubble");
    return usageError(
        fmt::format("{} builds a V only with two stages per rank, but this order has {}", people, schedule.vpp),
        fmt::format("use {}, or loop placement", Field("vpp").is(2)));
}

Result<OrderSetup> torchSetup(const Schedule& schedule, Framework framework, const std::string& file) {
    OrderSetup setup;
    setup.framework = peoplesName(framework);
    setup.takes_file = true;
    BUBBLESCOPE_ASSIGN(setup.schedule_name, torchName(schedule, setup.framework));
    const bool automodel = framework == Framework::Automodel;
    const std::string prefix = automodel ? "pp_" : "--parallelism.pipeline_parallel_";
    setup.settings = {{prefix + "schedule", setup.schedule_name}, {prefix + "schedule_csv", file}};
    if (automodel) {
        setup.notes.push_back(fmt::format(
            "The pipeline has {} ranks, and pp_batch_size is {} × pp_microbatch_size; the file fixes these sizes.",
            schedule.pp, schedule.microbatches));
    } else {
        setup.settings.push_back({prefix + "degree", fmt::format("{}", schedule.pp)});
        setup.settings.push_back({"--parallelism.num_pp_microbatches", fmt::format("{}", schedule.microbatches)});
        setup.notes.push_back(fmt::format("For a torchtitan version without num_pp_microbatches, set {}microbatch_size "
                                          "to a rank's batch divided by {}.",
                                          prefix, schedule.microbatches));
    }
    if (schedule.vpp > 1) {
        setup.notes.push_back(fmt::format("{} stages per rank: set {} to get {}.", schedule.vpp,
                                          automodel ? "layers_per_stage or module_fqns_per_model_part"
                                                    : "pipeline_parallel_layers_per_stage or "
                                                      "module_fqns_per_model_part",
                                          schedule.stages()));
        setup.notes.push_back(
            fmt::format("{} only determines the placement; the order comes from the file.", setup.schedule_name));
    }
    if (automodel && schedule.microbatches < schedule.vpp) {
        setup.notes.push_back(fmt::format("Fewer micro-batches ({}) than stages on a rank ({}) are rejected unless "
                                          "NEMOAUTOMODEL_PP_ALLOW_UNDERFILL=1 is set.",
                                          schedule.microbatches, schedule.vpp));
    }
    if (hasPairs(schedule) && framework != Framework::GraphPp) {
        setup.notes.emplace_back("The halves of an overlapped pair run one after the other, unless you register a "
                                 "function for OVERLAP_F_B.");
    }
    return setup;
}

/// Megatron's group size, the number of micro-batches that pass one chunk before the next: rank 0's first forwards of
/// its chunk 0.
int groupOf(const Schedule& schedule) {
    const auto& ops = schedule.ranks.front();
    const auto end =
        std::ranges::find_if(ops, [](const Op& op) { return op.kind != OpKind::Forward || op.chunk != Chunk{0}; });
    return static_cast<int>(end - ops.begin());
}

Result<OrderSetup> megatronSetup(const Schedule& schedule) {
    OrderSetup setup;
    setup.framework = peoplesName(Framework::Megatron);
    const bool interleaved = schedule.name == "interleaved" && schedule.flavor == "megatron";
    const bool overlapped = schedule.name == "interleaved-overlap";
    if (schedule.name != "1f1b" && !interleaved && !overlapped) {
        return usageError(fmt::format("Megatron-core does not read order files; it generates only 1f1b, interleaved "
                                      "(megatron) and interleaved-overlap, not {}",
                                      orderName(schedule)),
                          fmt::format("use one of these, or change the layer split with 'partition {}'",
                                      optionOf(Field("for"), "megatron")));
    }
    setup.schedule_name = orderName(schedule);
    setup.settings.push_back({"--pipeline-model-parallel-size", fmt::format("{}", schedule.pp)});
    if (schedule.vpp > 1) {
        setup.settings.push_back({"--num-virtual-stages-per-pipeline-rank", fmt::format("{}", schedule.vpp)});
        setup.settings.push_back({"--microbatch-group-size-per-virtual-pipeline-stage",
                                  fmt::format("{}", std::min(groupOf(schedule), schedule.microbatches))});
    }
    if (overlapped) setup.settings.push_back({"--overlap-moe-expert-parallel-comm", ""});
    setup.notes.push_back(
        fmt::format("The global batch has {} micro-batches per data-parallel replica.", schedule.microbatches));
    return setup;
}

Result<OrderSetup> deepSpeedSetup(const Schedule& schedule) {
    OrderSetup setup;
    setup.framework = peoplesName(Framework::DeepSpeed);
    if (schedule.name != "1f1b" || schedule.vpp != 1) {
        return usageError(
            fmt::format("DeepSpeed's pipeline engine does not read order files; it generates only 1f1b, not {}",
                        orderName(schedule)),
            fmt::format("use 1f1b, or change the layer split with 'partition {}'",
                        optionOf(Field("for"), "deepspeed")));
    }
    setup.schedule_name = "1f1b";
    setup.settings = {{"PipelineModule num_stages", fmt::format("{}", schedule.pp)},
                      {"gradient_accumulation_steps", fmt::format("{}", schedule.microbatches)}};
    return setup;
}

} // namespace

std::optional<Framework> frameworkFromName(std::string_view name) {
    const auto found = std::ranges::find(kFrameworks, name, &FrameworkName::option);
    return found == kFrameworks.end() ? std::nullopt : std::optional(found->framework);
}

const std::vector<std::string>& frameworkNames() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const FrameworkName& each : kFrameworks)
            list.emplace_back(each.option);
        return list;
    }();
    return names;
}

Result<OrderSetup> orderSetup(const Schedule& schedule, Framework framework, const std::string& file) {
    BUBBLESCOPE_TRY(rejectEncoders(schedule.placement, "a framework's setting of an order"));
    if (framework == Framework::Megatron) return megatronSetup(schedule);
    if (framework == Framework::DeepSpeed) return deepSpeedSetup(schedule);
    return torchSetup(schedule, framework, file);
}

} // namespace bubblescope
