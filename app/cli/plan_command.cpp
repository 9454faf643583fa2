#include "app/cli/command.h"
#include "app/cli/model_size_options.h"
#include "app/cli/output.h"
#include "app/cli/run_model_options.h"
#include "app/cli/trace_output.h"
#include "core/base/bytes.h"
#include "core/cost/devices.h"
#include "core/plan/search.h"
#include "core/report/results/plan_document.h"
#include "core/request/plan_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct PlanArguments {
    PlanRequest request;
    RunModelRequest from; ///< without files if there is no trace
    int plans = 10;
    std::string out;
    bool curve = false;
    bool json = false;
    bool csv = false;
};

/// Duration of the step if all devices ran at their peak; 0 without a model or devices.
Result<double> peakSeconds(const PlanRequest& request) {
    if (!request.model.given() || request.cluster.devices == 0 || request.global_batch == 0) return 0.0;
    BUBBLESCOPE_ASSIGN(const plan::Problem problem, request.problem());
    return plan::Judge(problem).peakSeconds();
}

CommandResult planRun(const PlanArguments& options) {
    const plan::Space& space = options.request.space;
    if (!space.tp.empty() || !space.cp.empty() || !space.pp.empty() || !space.ep.empty() || !space.microbatch.empty() ||
        !options.request.recompute.empty() || !options.request.zero.empty())
        return usageError("a trace already defines the parallelism, recomputation and micro-batch size",
                          "restrict only schedules and chunks, or plan without a trace");
    BUBBLESCOPE_ASSIGN(plan::Space choices, options.request.choices(true));
    choices.plans = static_cast<std::size_t>(options.plans);
    BUBBLESCOPE_ASSIGN(const double peak, peakSeconds(options.request));
    BUBBLESCOPE_ASSIGN(const AlignedRun run, loadAligned(options.from));
    BUBBLESCOPE_ASSIGN(const RunModel model, options.from.model(run.run, run.clocks));
    BUBBLESCOPE_ASSIGN(const ModelCut cut, options.from.cut(run.run));
    BUBBLESCOPE_ASSIGN(const plan::CalibratedResult found,
                       plan::searchCalibrated(model, run.run.schedule, cut, choices, {}));
    printProblems(run.run.problems);
    print(report::calibratedDocument(model, run.run.schedule, found, peak, options.from.words()), options.json);
    return 0;
}

CommandResult findPlan(const PlanArguments& options) {
    if (!options.from.files.empty()) return planRun(options);
    BUBBLESCOPE_ASSIGN(plan::Problem problem, options.request.problem());
    BUBBLESCOPE_ASSIGN(plan::Space space, options.request.choices());
    space.plans = static_cast<std::size_t>(options.plans);
    const plan::Judge judge(std::move(problem));
    BUBBLESCOPE_ASSIGN(const plan::SearchResult found, plan::search(judge, space, {}));
    if (!options.out.empty()) {
        BUBBLESCOPE_ASSIGN(const plan::PlanStep step, judge.step(found.plans.front().layout));
        std::vector<perfetto::RankCounter> counters;
        for (const auto& curve : step.memoryCurves())
            counters.push_back(memoryCounter(Rank{counters.size()}, curve));
        BUBBLESCOPE_TRY(writeStep(options.out, RunInfo::of("simulate", *step.schedule), step.timeline, counters));
    }
    std::vector<report::MemoryCurves> curves;
    for (std::size_t i = 0; options.curve && i < found.plans.size(); ++i) {
        BUBBLESCOPE_ASSIGN(const plan::PlanStep step, judge.step(found.plans[i].layout));
        curves.push_back(step.memoryCurves());
    }
    if (options.csv)
        printText(report::planCsv(judge.problem(), found));
    else
        print(report::planDocument(judge.problem(), found, curves), options.json);
    return 0;
}

void addClusterOptions(Command command, ClusterRequest& request) {
    command.optionGroup("Cluster");
    command.addOption("--gpus", request.devices, "Number of devices").typeName("N").positive();
    command.addOption("--gpu", request.device, fmt::format("A known device: {}", fmt::join(deviceNames(), ", ")))
        .typeName("NAME")
        .suggests(deviceNames());
    command.addOption("--gpus-per-host", request.per_host, "Devices per host (8)").typeName("N").range(1, 1024);
    const auto size = [&](const char* name, std::optional<std::int64_t>& value, const char* about) {
        command.addParsed(name, value, parseBytes, about).typeName("SIZE").rare();
    };
    const auto rate = [&](const char* name, std::optional<std::int64_t>& value, const char* about) {
        command.addParsed(name, value, parseBandwidth, about).typeName("RATE").rare();
    };
    const auto teraflops = [&](const char* name, std::optional<double>& value, const char* about) {
        command.addOption(name, value, about).typeName("TFLOPS").range(0.001, 1e6).rare();
    };
    size("--gpu-memory", request.memory, "Memory per device");
    size("--reserve", request.reserved, "Memory that a plan leaves free for contexts and buffers (4GiB)");
    teraflops("--tflops", request.teraflops, "Peak rate of dense 16-bit matrix products");
    teraflops("--tflops-fp8", request.teraflops_fp8, "Peak rate of dense matrix products in 8-bit floating point");
    rate("--memory-bandwidth", request.memory_rate, "Memory bandwidth per device");
    rate("--link-bandwidth", request.link, "Bandwidth between the devices of a host, per device and direction");
    rate("--network-bandwidth", request.network, "Bandwidth between hosts, per device and direction");
    command
        .addOption("--tp-overlap", request.tensor_overlap,
                   "Share of tensor-parallel communication that overlaps matrix products (0)")
        .typeName("PERCENT")
        .range(0.0, 100.0)
        .rare();
    command
        .addOption("--attention-share", request.attention_share,
                   "Rate of fused attention, in percent of the rate of matrix products (60)")
        .typeName("PERCENT")
        .range(1.0, 100.0)
        .rare();
    command
        .addOption("--ep-overlap", request.expert_overlap,
                   "Share of computation that can hide the expert all-to-all, in percent (0)")
        .typeName("PERCENT")
        .range(0.0, 100.0)
        .rare();
    command
        .addFlag("--deepep", request.sends_once,
                 "Send a token only once to each host that has experts for it, as DeepEP does")
        .rare();
    command.addFlag("--fp8", request.fp8, "Compute the layers' matrix products in 8-bit floating point");
}

void addSpaceOptions(Command command, PlanRequest& request) {
    command.optionGroup("Limits on the choices");
    const auto list = [&](const char* name, std::vector<int>& value, const char* about) {
        command.addOption(name, value, about).typeName("N,…").delimiter(',');
    };
    list("--tp", request.space.tp, "Tensor-parallel ranks (default: divisors up to the devices per host)");
    list("--cp", request.space.cp, "Context-parallel ranks (default: as many as leave each at least 4096 tokens)");
    list("--pp", request.space.pp, "Pipeline ranks");
    list("--ep", request.space.ep, "Expert-parallel ranks (default: divisors of the number of experts)");
    list("--vpp", request.space.vpp, "Chunks per rank");
    list("--microbatch", request.space.microbatch, "Sequences per micro-batch (default: powers of two)");
    command
        .addOption("--schedule", request.space.schedules,
                   fmt::format("Schedules ({})", fmt::join(plan::defaultSchedules(), ",")))
        .typeName("NAME,…")
        .delimiter(',');
    command
        .addOption("--recompute", request.recompute,
                   "Activation recomputation: none, full or selective (default: none and full)")
        .typeName("NAME,…")
        .delimiter(',')
        .oneOf({"none", "full", "selective"});
    command.addOption("--zero", request.zero, "ZeRO stages (default: 1, 2 and 3)")
        .typeName("N,…")
        .delimiter(',')
        .range(0, 3);
}

} // namespace

void addPlanCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("plan", "Find the best tp, cp, dp, pp, v, micro-batch and schedule for a model on a cluster");
    const auto options = std::make_shared<PlanArguments>();
    command.examples({"plan --preset llama3-8b --gpus 64 --gpu h100 --global-batch 512",
                      "plan --from my-run --schedule 1f1b,interleaved,zb-v"});
    command.optionGroup("Model");
    addModelSizeOptions(command, options->request.model);
    command.addOption("--global-batch", options->request.global_batch, "Sequences per step, over all replicas")
        .typeName("N")
        .positive();
    command.optionGroup("Measured times");
    const Option from =
        command
            .addOption("--from", options->from.files,
                       "Take times, ranks and micro-batches from a trace; choose schedule, chunks and layer split")
            .typeName("TRACE")
            .delimiter(',');
    command.addOption("--layers-per-stage", options->from.layers, "Layers in each stage of the trace (default: equal)")
        .typeName("N,N,…")
        .needs(from);
    addClusterOptions(command, options->request.cluster);
    addSpaceOptions(command, options->request);
    command.optionGroup("Output");
    command.addOption("--plans", options->plans, "Number of plans to print (10)").typeName("N").range(1, 1000);
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--curve", options->curve, "Add each rank's memory over time, as [time_ns, bytes]")
        .needs(json)
        .excludes(from);
    command
        .addOutput("--out", options->out, OutputKind::File,
                   "Write the pipeline and memory of the best plan as a trace: .pftrace, .json", traceEndings())
        .typeName("FILE")
        .excludes(from);
    command.addFlag("--csv", options->csv, "Print only the plans, as CSV").excludes(json).excludes(from);
    command.onParsed([&action, options] { action = [options] { return findPlan(*options); }; });
}

} // namespace bubblescope::cli
